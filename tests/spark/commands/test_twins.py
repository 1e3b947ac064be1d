"""Generated commands change a table with skipping on like its twin with skipping off."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING

import pytest
from tests.kit.generated import COLUMNS, predicate, rows_of
from tests.kit.reports import internal_errors
from tests.spark.commands.kit import KINDS, SqlTable
from tests.spark.mixed_indexes import mixed_indexes

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

ROWS, FILES, COMMANDS = 300, 6, 4
INDEXED = ("l", "s", "d")
CHANGES = (
    "DELETE FROM {t} WHERE {condition}",
    "UPDATE {t} SET i = i + 1, s = concat(s, '!') WHERE {condition}",
    "UPDATE {t} SET l = id, d = DATE'2024-02-29' WHERE {condition}",
)


# the other kind of Delta is drawn in every build
@pytest.fixture(
    params=[
        pytest.param(kind, marks=[pytest.mark.soak] * (kind == "delta_rewrites")) for kind in KINDS
    ]
)
def twins(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[tuple[SqlTable, SqlTable]]:
    """Two tables of the same rows of all types; the second one has indexes."""
    made = []
    for number in range(2):
        table = SqlTable(spark, request.param, f"twin{number}_{request.param}", tmp_path)
        rows = rows_of(spark, ROWS, files=FILES)
        table.create(", ".join(f"{f.name} {f.dataType.simpleString()}" for f in rows.schema))
        rows.writeTo(table.name).append()
        made.append(table)
    mixed_indexes(spark, made[1].name, [[column] for column in INDEXED])
    yield made[0], made[1]
    ls.disable(spark)
    for table in made:
        table.drop()


@pytest.mark.in_time("iceberg_2_on_read")
def test_twins_stay_equal(spark: SparkSession, twins: tuple[SqlTable, SqlTable]) -> None:
    """Each command gives the same rows on twin tables, with and without skipping."""
    drawn = random.Random(twins[0].name)
    total = read = 0
    for number in range(COMMANDS):
        condition = predicate(drawn, (*INDEXED, "i"))
        if number % 2 == 0:
            value = re.sub(r"\bid\b", f"{drawn.randrange(ROWS)}L", COLUMNS["l"])
            condition = f"l = {value} AND ({condition})"
        change = drawn.choice(CHANGES)
        rows = []
        for table, switch in zip(twins, (ls.disable, ls.enable), strict=True):
            switch(spark)
            spark.sql(change.format(t=table.name, condition=condition))
            pruned = ls.last_pruning(spark)
            rows.append(sorted(map(repr, spark.table(table.name).collect())))
        total += sum(p.files_total for p in pruned)
        read += sum(p.files_read for p in pruned)

        assert rows[0] == rows[1], (change, condition)
        assert internal_errors(pruned) == []
    assert read < total
