"""Random commands with skipping on give the same rows as a model in memory.

``LAKESIEVE_COMMANDS=2000`` runs that many over all kinds of tables.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.kit.reports import internal_errors
from tests.spark.commands.kit import KINDS, Model, SqlTable
from tests.spark.mixed_indexes import mixed_indexes

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.spark.commands.kit import Row

COMMANDS = math.ceil(depth("COMMANDS", test=14, soak=1500) / len(KINDS))
CHANGES = ("insert", "delete", "delete", "delete", "update", "update", "update", "merge", "merge")
OTHERS = ("compact", "refresh", "refresh", "back")
KEPT_VERSIONS = 4


# one kind of each format; the others have their commands in test_scans and test_conflicts
IN_TIME = ("iceberg_3_on_read", "delta_vectors")


@pytest.fixture(
    params=[pytest.param(kind, marks=[pytest.mark.soak] * (kind not in IN_TIME)) for kind in KINDS]
)
def table(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[SqlTable]:
    """An empty table with columns ``id, k, s, v``."""
    made = SqlTable(spark, request.param, f"model_{request.param}", tmp_path)
    made.create("id BIGINT, k BIGINT, s STRING, v BIGINT")
    yield made
    ls.disable(spark)
    made.drop()


def content(table: SqlTable) -> list[tuple[object, ...]]:
    """The rows by ``id``."""
    return sorted(tuple(row) for row in table.spark.table(table.name).collect())


@pytest.mark.timeout(300 + 5 * COMMANDS)
def test_the_table_is_what_the_model_says(
    spark: SparkSession, table: SqlTable, record_property: Callable[[str, object], None]
) -> None:
    """After every command, with indexes that lag behind, the table holds the model's rows."""
    model = Model(table=table.name, seed=table.name)
    # Delta knows no subqueries there
    changes = CHANGES + ("delete_by_query",) * (table.kind.provider == "iceberg")
    log: list[str] = []

    def run(command: str) -> None:
        log.append(command)
        spark.sql(command)

    for _ in range(6):
        run(model.insert())
    indexes = mixed_indexes(spark, table.name, [["k"], ["s"]], rows=2)
    ls.enable(spark)
    versions: list[tuple[int, dict[int, Row]]] = []
    total = read = 0
    for _ in range(COMMANDS):
        chosen = model.drawn.choice(changes * 2 + OTHERS)
        if chosen in changes:
            versions = [*versions, (table.version(), dict(model.rows))][-KEPT_VERSIONS:]
            # Delta knows no subqueries there
            if (
                chosen == "delete"
                and table.kind.provider == "iceberg"
                and model.drawn.random() < 0.2
            ):
                run(model.delete_by_query())
            else:
                run(getattr(model, chosen)())
            pruned = ls.last_pruning(spark)
            assert internal_errors(pruned) == [], log
            if chosen in {"delete", "update"}:
                total += sum(p.files_total for p in pruned)
                read += sum(p.files_read for p in pruned)
        elif chosen == "compact":
            run(table.compact())
        elif chosen == "refresh":
            log.append("refresh")
            for index in indexes:
                index.refresh()
        elif versions:
            at = model.drawn.randrange(len(versions))
            version, model.rows = versions[at]
            versions = versions[:at]
            run(table.back(version))
        assert content(table) == model.content(), "\n".join(log)
    record_property("files read by commands on conditions", f"{read} of {total}")

    # the drawn commands may all need every file of so small a table; this one needs one of three
    # that minima and maxima do not tell apart
    for keys in ((999, 1001), (999, 1000, 1001), (999, 1001)):
        run(model.insert_keys(keys))
    for index in indexes:
        index.refresh()
    run(model.update_key(1000))
    pruned = ls.last_pruning(spark)
    assert content(table) == model.content()
    assert sum(p.files_read for p in pruned) < sum(p.files_total for p in pruned)
