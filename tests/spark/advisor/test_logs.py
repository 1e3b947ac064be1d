"""Real event logs of this version of Spark, in every way that it writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.advisor.logs import logged

import lakesieve as ls
from lakesieve.advisor.estimate import fields_restricted
from lakesieve.advisor.event_log import read_event_logs
from lakesieve.advisor.table_scans import known_table
from lakesieve.predicate import ColumnType, bind, rows_where
from lakesieve.spark.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

    from lakesieve.advisor.table_scans import KnownTable

TABLE = "lake.advised.t"
FILES = 4

CONDITIONS = {
    "k = 5": {"k"},
    "s = 'it\\'s (a) b, c' AND day = DATE'2024-01-02'": {"s", "day"},
    "k IN (1, 2, 3) OR s LIKE 'na%'": set(),
    "k IN (1, 2, 3) AND s LIKE 'na%'": {"k", "s"},
    "st.a = 3 AND dec > 3.50": {"st.a", "dec"},
    "ts >= TIMESTAMP'2024-01-01 10:00:00'": {"ts"},
    f"k IN ({', '.join(map(str, range(60)))})": {"k"},
    "upper(s) = 'A' AND k = 7": {"k"},
    "flag AND NOT (k = 3)": {"flag", "k"},
}
"""Conditions, and the columns by which an index could answer them."""


@pytest.fixture(scope="module")
def table(spark: SparkSession) -> Iterator[str]:
    """An Iceberg table of all kinds of columns."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.advised")
    spark.sql(
        f"CREATE TABLE {TABLE} USING iceberg AS SELECT /*+ REPARTITION({FILES}) */ id AS k, "
        "date_add(DATE'2024-01-01', CAST(id % 3 AS INT)) AS day, concat('name ', id) AS s, "
        "TIMESTAMP'2024-01-01 00:00:00' + make_interval(0, 0, 0, 0, CAST(id AS INT)) AS ts, "
        "named_struct('a', CAST(id AS INT), 'b', 'x') AS st, CAST(id AS DECIMAL(10, 2)) AS dec, "
        "id % 2 = 0 AS flag FROM range(200)"
    )
    yield TABLE
    spark.sql(f"DROP TABLE {TABLE} PURGE")


def restricted(known: KnownTable, spark: SparkSession, logs: Path) -> list[set[str]]:
    """The columns that each recorded query restricts."""
    opened = open_table(spark, TABLE)
    columns = opened.reader.columns(opened.reader.version())
    types = {
        path: ColumnType(field_id=c.field_id, kind=c.kind, scale=c.scale, precision=c.precision)
        for path, c in columns.items()
    }
    names = {column.field_id: ".".join(path) for path, column in columns.items()}
    found = read_event_logs([str(logs)], [known])
    assert found.problems == ()
    assert all(use.seconds is not None and use.seconds < 60 for use in found.uses)
    return [
        {
            names[field]
            for field in fields_restricted(
                rows_where(bind(use.condition, types, timezone="UTC", strict=False))
            )
        }
        for use in found.uses
    ]


WAYS = {
    "plain": {"compress": "false", "rolling_enabled": "false"},
    "rolled": {"compress": "false", "rolling_enabled": "true"},
    "rolled-zstd": {"compress": "true", "rolling_enabled": "true", "compression_codec": "zstd"},
    **{
        codec: {"compress": "true", "rolling_enabled": "false", "compression_codec": codec}
        for codec in ("zstd", "lz4", "snappy")
    },
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way(spark: SparkSession, table: str, tmp_path: Path, way: str) -> None:
    """Logs in every form give the same uses of a query."""
    with logged(spark, tmp_path / "logs", **WAYS[way]):
        spark.sql(f"SELECT * FROM {table} WHERE k = 5").collect()
        spark.sql(f"SELECT count(*) FROM {table} WHERE s = 'name 7'").collect()
    known = known_table(open_table(spark, table).reader)
    assert restricted(known, spark, tmp_path / "logs") == [{"k"}, {"s"}]


def test_conditions(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """Every kind of condition is read, as this version of Spark and of Iceberg prints it."""
    with logged(spark, tmp_path / "logs", compress="false", rolling_enabled="false"):
        for condition in CONDITIONS:
            spark.sql(f"SELECT * FROM {table} WHERE {condition}").collect()
    known = known_table(open_table(spark, table).reader)
    found = restricted(known, spark, tmp_path / "logs")
    assert dict(zip(CONDITIONS, found, strict=True)) == CONDITIONS


def test_files_joins_and_commands(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """Uses have the files read, the rows of a join's other side, and each command once."""
    logs = tmp_path / "logs"
    with logged(spark, logs, compress="false", rolling_enabled="false"):
        spark.sql(f"SELECT * FROM {table} WHERE upper(s) = 'A'").collect()
        spark.sql(
            f"SELECT /*+ BROADCAST(d) */ t.s FROM {table} t JOIN (SELECT id * 3 AS j FROM range(7))"
            " d ON t.k = d.j"
        ).collect()
        spark.sql(f"DELETE FROM {table} WHERE k = 199")
        spark.sql(f"UPDATE {table} SET s = 'new' WHERE k = 198")
    known = known_table(open_table(spark, table).reader)
    uses = read_event_logs([str(logs)], [known]).uses
    assert [use.files for use in uses[:2]] == [FILES, FILES]
    assert [(one.column, one.rows) for one in uses[1].joined] == [(("k",), 7)]
    # planned by the scan that finds the rows
    assert len(uses) == 4
    assert restricted(known, spark, logs)[2:] == [{"k"}, {"k"}]


def test_files_are_those_of_last_pruning(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """A query counts with the files that an index left to it, not with all that Iceberg planned."""
    texts = ("k = 5", "s = 'name 7'", "k IN (1, 2, 3) AND s LIKE 'na%'", "k = 5 AND flag")
    ls.create_indexes(table, ["k", "s"], spark=spark)
    ls.enable(spark)
    read = []
    try:
        with logged(spark, tmp_path / "logs", compress="false", rolling_enabled="false"):
            for text in texts:
                spark.sql(f"SELECT * FROM {table} WHERE {text}").collect()
                read.append(ls.last_pruning(spark)[0].files_read)
    finally:
        ls.disable(spark)
        for name in ("k", "s"):
            ls.open_index(table, name, spark=spark).drop()
    known = known_table(open_table(spark, table).reader)
    uses = read_event_logs([str(tmp_path / "logs")], [known]).uses

    assert [use.files for use in uses] == read
    assert max(read) < FILES
