"""DELETE and UPDATE of Hudi tables with skipping on agree with a model in memory.

``LAKESIEVE_COMMANDS=200`` runs that many over all kinds of tables.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.depth import depth
from tests.kit.reports import internal_errors
from tests.spark.commands.kit import Model
from tests.spark.foreign.hudi import HudiStory
from tests.spark.hudi.driver import DRIVERS

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.spark.commands.kit import Row
    from tests.spark.hudi.driver import HudiDriver

COMMANDS = depth("COMMANDS", test=4, soak=300) // len(DRIVERS)
OWN_SKIPPING = HudiStory.own_skipping
CHANGES = ("insert", "delete", "delete", "update", "update", "refresh", "compact")


# merge-on-read tables have base files, too
@pytest.fixture(
    params=[
        pytest.param(kind, marks=[pytest.mark.soak] * (kind == "copy_on_write")) for kind in DRIVERS
    ]
)
def table(
    spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[HudiDriver]:
    """An empty table."""
    made = DRIVERS[request.param](spark, tmp_path / "t", f"commands_{request.param}")
    yield made
    ls.disable(spark)
    made.drop()
    spark.conf.unset(OWN_SKIPPING)


def append(table: HudiDriver, rows: list[Row]) -> None:
    """Add rows in one file."""
    frame = table.spark.createDataFrame(rows, "id BIGINT, k BIGINT, s STRING, v BIGINT")
    table.append(frame.coalesce(1))


@pytest.mark.timeout(300 + 10 * COMMANDS)
def test_the_table_is_what_the_model_says(spark: SparkSession, table: HudiDriver) -> None:
    """After every command, with an index that lags behind, the table holds the model's rows."""
    model = Model(table=f"spark_catalog.default.{table.table}", seed=table.kind)
    for _ in range(4):
        _insert(table, model)
    assert model.table == table.entry
    index = ls.create_index(table.name, ["k"], spark=spark)
    ls.enable(spark)
    log = []
    for _ in range(COMMANDS):
        chosen = model.drawn.choice(CHANGES)
        log.append(chosen)
        if chosen == "insert":
            _insert(table, model)
        elif chosen == "refresh":
            index.refresh()
        elif chosen == "compact":
            table.compact()
        else:
            log.append(getattr(model, chosen)())
            # statistics of Hudi's own leave out files for a prefix: see tests/spark/foreign/hudi.py
            spark.conf.set(OWN_SKIPPING, str("LIKE" not in log[-1]).lower())
            spark.sql(log[-1])
            assert internal_errors(ls.last_pruning(spark)) == []
        columns = ("id", "k", "s", "v")
        rows = sorted(tuple(row) for row in table.frame().select(*columns).collect())
        assert rows == model.content(), "\n".join(log)


def _insert(table: HudiDriver, model: Model) -> None:
    rows = model.fresh(8)
    model.rows |= {row.id: row for row in rows}
    append(table, rows)


@pytest.mark.soak
def test_the_scan_of_a_command(spark: SparkSession, table: HudiDriver) -> None:
    """A command on one key opens the file with the key and files with log files."""
    model = Model(table="", seed="scan")
    for key in range(4):
        append(table, [row._replace(k=100 + key) for row in model.fresh(3)])
    ls.create_index(table.name, ["k"], spark=spark)
    ls.enable(spark)

    spark.sql(f"UPDATE {table.entry} SET v = -7 WHERE k = 101")

    scan = ls.last_pruning(spark)[0]
    assert (scan.files_read, scan.uncovered, scan.files_total) == (1, 0, 4)
    assert table.frame().where("v = -7").count() == 3
    spark.sql(f"DELETE FROM {table.entry} WHERE k = 103")

    # what the update wrote is not covered: a new file, or a log file
    scan = ls.last_pruning(spark)[0]
    assert (scan.files_read, scan.uncovered, scan.files_total) == (2, 1, 4)
    assert table.frame().where("k = 103").count() == 0
    assert table.frame().count() == 9
