"""Spark as a client of the server gets the same rows from fewer files."""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest
from pyiceberg.catalog.rest import RestCatalog
from pyiceberg.table import StaticTable
from tests.depth import depth
from tests.ports import free_port
from tests.serve.running import running
from tests.spark.deletes.kit import rows_of
from tests.spark.deletes.story import DOMAINS, Story
from tests.spark.extension.clients import connect_session

import lakesieve as ls
from lakesieve.index import ReasonCode
from lakesieve.serve.app import build_app
from lakesieve.serve.catalogs import WarehouseCatalog
from lakesieve.serve.planning import PlanningContext

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

SEEDS = range(depth("SEEDS", test=1, soak=8))
QUERIES = depth("QUERIES", test=12, soak=25)
STEPS = 6


@pytest.fixture(scope="module")
def connected(spark: SparkSession) -> Iterator[SparkSession]:
    """A client of Spark Connect, whose server runs beside the session."""
    jvm: Any = spark._jvm
    connect = jvm.org.apache.spark.sql.connect.service.SparkConnectService
    port = str(free_port())
    jvm.org.apache.spark.SparkEnv.get().conf().set("spark.connect.grpc.binding.port", port)
    connect.start(spark.sparkContext._jsc.sc())
    client = connect_session(port)
    yield client
    client.stop()
    connect.stop(jvm.scala.Option.empty(), jvm.scala.Option.empty())


@pytest.fixture(scope="module")
def served(spark: SparkSession, connected: SparkSession) -> Iterator[str]:
    """The name of a catalog whose scans the server plans, in both sessions."""
    warehouse = WarehouseCatalog(spark.conf.get("spark.sql.catalog.lake.warehouse") or "")
    with running(build_app(warehouse, PlanningContext())) as address:
        for session in (spark, connected):
            session.conf.set("spark.sql.catalog.served", "org.apache.iceberg.spark.SparkCatalog")
            session.conf.set("spark.sql.catalog.served.type", "rest")
            session.conf.set("spark.sql.catalog.served.uri", address)
            # else it keeps the state that a table had at its first use
            session.conf.set("spark.sql.catalog.served.cache-enabled", "false")
        yield "served"


def _condition(drawn: random.Random, names: dict[str, str]) -> str:
    column = drawn.choice(list(names))
    values = [value for value, _ in DOMAINS[column][1]]
    kind = drawn.randrange(5)
    if kind == 0:
        return f"{names[column]} IS {drawn.choice(['', 'NOT '])}NULL"
    if kind == 1:
        return f"{names[column]} IN ({', '.join(drawn.sample(values, 2))})"
    if kind == 2 and column == "s":
        return f"{names[column]} LIKE 'k1%'"
    condition = f"{names[column]} {drawn.choice(['=', '<', '>='])} {drawn.choice(values)}"
    return condition if kind < 4 else f"NOT ({condition})"


@pytest.mark.parametrize("seed", SEEDS)
def test_the_same_rows(
    spark: SparkSession,
    connected: SparkSession,
    served: str,
    seed: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Deletes, schema evolution and old versions agree, in a session and over Connect."""
    table = f"db.sessions_{seed}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
    story = Story(spark, f"lake.{table}", seed)
    try:
        story.live(STEPS // 2)
        ls.create_index(story.table, [story.names["k"]], spark=spark)
        story.live(STEPS - STEPS // 2)
        drawn = random.Random(seed)
        found = [
            row.snapshot_id for row in spark.sql(f"SELECT * FROM {story.table}.snapshots").collect()
        ]
        caplog.set_level(logging.INFO, "lakesieve.serve")
        for number in range(QUERIES):
            at = "" if number % 3 else f" VERSION AS OF {drawn.choice(found)}"
            names = story.names if not at else {"p": "p"} if story.names["p"] == "p" else {}
            where = _condition(drawn, names) if names else "true"
            own = spark.sql(f"SELECT * FROM {story.table}{at} WHERE {where}")
            expected = rows_of(own)
            for session in (spark, connected):
                remote = session.sql(f"SELECT * FROM {served}.{table}{at} WHERE {where}")
                assert rows_of(remote) == expected, (where, at, story.log)
        plans = [record.fields for record in caplog.records if hasattr(record, "fields")]
        assert len(plans) >= 2 * QUERIES
        codes = {code for plan in plans for code in plan["reasons"]}
        assert ReasonCode.INDEX_USED in codes
        assert ReasonCode.INTERNAL_ERROR not in codes
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {story.table} PURGE")


# clients in Python meet the server in tests/serve
@pytest.mark.soak
@pytest.mark.parametrize("seed", SEEDS)
def test_python_clients(
    spark: SparkSession, served: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PyIceberg and Polars get Spark's rows of each version, or refuse what they refuse alone."""
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")
    table = f"db.clients_{seed}"
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
    story = Story(spark, f"lake.{table}", seed)
    try:
        story.live(1)
        ls.create_index(story.table, [story.names["k"]], spark=spark)
        spark.sql(f"DELETE FROM {story.table} WHERE n % 5 = 0")
        story.live(2)
        catalog = RestCatalog("served", uri=str(spark.conf.get(f"spark.sql.catalog.{served}.uri")))
        remote = catalog.load_table(table)
        own = StaticTable.from_metadata(remote.metadata_location)
        read = 0
        for snapshot in (entry.snapshot_id for entry in own.metadata.snapshots):
            for name, values in (("k", range(12)), ("p", range(3))):
                wanted = random.Random(snapshot).choice(values)
                at = f"{story.table} VERSION AS OF {snapshot}"
                rows = spark.sql(f"SELECT * FROM {at} WHERE {name} = {wanted}").count()
                for read_by in (_by_pyiceberg, _by_polars):
                    alone = _count(read_by, own, snapshot, name, wanted)
                    count = _count(read_by, remote, snapshot, name, wanted)
                    if isinstance(count, int):
                        assert count == rows, (snapshot, name, wanted, story.log)
                        read += 1
                        continue
                    # Polars needs the partitions that PyIceberg cannot read of a plan
                    assert isinstance(alone, str) or count.startswith("IndexError"), (
                        count,
                        story.log,
                    )
        # PyIceberg does not read all formats
        assert read > 0 or story.format != "parquet"
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {story.table} PURGE")


def _by_pyiceberg(table: Any, snapshot: int, name: str, value: int) -> int:
    wanted = f"{name} = {value}"
    return int(table.scan(row_filter=wanted, snapshot_id=snapshot).to_arrow().num_rows)


def _by_polars(table: Any, snapshot: int, name: str, value: int) -> int:
    frame = pl.scan_iceberg(table, snapshot_id=snapshot).filter(pl.col(name) == value)
    return frame.collect().height


def _count(
    read_by: Callable[[Any, int, str, int], int], table: Any, snapshot: int, name: str, value: int
) -> int | str:
    """How many rows there are, or the error that says why that is not known."""
    try:
        return read_by(table, snapshot, name, value)
    except Exception as error:  # noqa: BLE001 - a client's own refusal, whatever it is
        return f"{type(error).__name__}: {error}"
