"""A table read through a session and without one: the same in all that an index knows it by."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from tests.kit.generated import predicate
from tests.spark.iceberg_listing import check_by_iceberg

import lakesieve as ls
from lakesieve.engines.table_rows import rows_of
from lakesieve.predicate.expression import Constant
from lakesieve.spark.tables import open_table as open_with_spark
from lakesieve.tables.iceberg.table import IcebergReader
from lakesieve.tables.opening import open_table
from lakesieve.tables.paths import table_root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from lakesieve.tables import TableReader, TableVersion

__all__ = ["check_alike"]

_FILES = ("path", "size", "records")
_PREDICATES = 3


def check_alike(
    spark: SparkSession, name: str, plain_name: str, versions: Sequence[str], columns: Sequence[str]
) -> None:
    """Insist that both sides know a table alike, and find the same files.

    Args:
        spark: The session.
        name: The table's name for the session.
        plain_name: Its name where there is no session.
        versions: Versions besides the current one, as a user names them.
        columns: Columns that predicates may compare.
    """
    warehouse = spark.conf.get("spark.sql.catalog.lake.warehouse", "warehouse")
    with_spark = open_with_spark(spark, name)
    without = open_table(plain_name, warehouse=str(warehouse))
    assert without.format == with_spark.reader.format
    assert without.uuid == with_spark.reader.uuid
    assert table_root(without.location) == table_root(with_spark.reader.location)
    assert list(without.references()) == list(with_spark.reader.references())
    for spec in (None, *versions):
        theirs, ours = with_spark.reader.version(spec), without.version(spec)
        assert (ours.id, ours.timestamp_ms) == (theirs.id, theirs.timestamp_ms), spec
        assert dict(without.columns(ours)) == dict(with_spark.reader.columns(theirs)), spec
        assert _files(without, ours) == _files(with_spark.reader, theirs), spec
    if isinstance(without, IcebergReader):
        check_by_iceberg(spark, name, without, (None, *versions))
    _check_rows(spark, name, plain_name, str(warehouse))
    kept = set(with_spark.reader.retained_files().to_pylist())
    # what a session does not list any more may be named by the log for longer
    assert kept <= set(without.retained_files().to_pylist())
    drawn = random.Random(name)
    known = with_spark.reader.columns(with_spark.reader.version())
    columns = [column for column in columns if (column,) in known]
    for _ in range(_PREDICATES):
        text = predicate(drawn, columns)
        expected = ls.find_files(name, text, spark=spark)
        found = ls.find_files(
            plain_name, text, warehouse=str(warehouse), timezone="America/New_York"
        )
        assert sorted(_bare(found.paths)) == sorted(_bare(expected.paths)), text
        assert (found.total, found.uncovered) == (expected.total, expected.uncovered), text
        assert _reasons(found) == _reasons(expected), text


def _check_rows(spark: SparkSession, name: str, plain_name: str, warehouse: str) -> None:
    """Insist that rows read without a session are those of the session."""
    rows = rows_of(open_table(plain_name, warehouse=warehouse), None)
    form, _, folder = name.partition(":")
    # a folder of files has no name in SQL
    frame: Any = spark.read.format(form).load(folder) if folder else spark.table(name)
    # those of Spark 3.5 have another zone in their types than the frame's schema says
    theirs = frame.toArrow() if hasattr(frame, "toArrow") else _of_batches(frame)
    schema, batches = rows.batches(Constant(value=True))
    ours = pa.Table.from_batches(batches, schema)
    assert ours.column_names == theirs.column_names
    assert _values(ours) == _values(theirs)


def _of_batches(frame: Any) -> pa.Table:
    batches = frame._collect_as_arrow()
    return pa.Table.from_batches(batches) if batches else pa.table({n: [] for n in frame.columns})


def _values(rows: pa.Table) -> list[str]:
    return sorted(repr(_plain(row)) for row in rows.to_pylist())


def _plain(value: Any) -> Any:
    """A value whatever the zone in which it was given."""
    if isinstance(value, datetime) and value.tzinfo is not None:
        return value.astimezone(UTC)
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    return [_plain(entry) for entry in value] if isinstance(value, list | tuple) else value


def _bare(paths: Sequence[str]) -> list[str]:
    return [path.removeprefix("file:").replace("//", "/") for path in paths]


def _reasons(found: ls.FileMatches) -> list[str]:
    """Reasons, without the command to make an index: the two sides name the table in two ways."""
    return [str(r.code if r.code == "no-index" else r) for r in found.reasons]


def _files(table: TableReader, version: TableVersion) -> list[tuple[object, ...]]:
    files = table.live_files(version).select(_FILES)
    return sorted(tuple(row.values()) for row in files.to_pylist())
