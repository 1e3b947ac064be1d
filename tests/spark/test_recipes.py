"""The Spark part of CONTRIBUTING's recipe for a table format, done with the toy format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
from tests.recipes.listed import LISTED, ListedReader, write_version

import lakesieve as ls
from lakesieve.spark.tables import FORMATS as SPARK_FORMATS
from lakesieve.spark.tables.formats import FormatSpec
from lakesieve.spark.tables.reading import encoded_paths, raw_columns
from lakesieve.tables.formats import FORMATS
from lakesieve.tables.opening import options_by_environment

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest
    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.spark.tables.contract import RawRead
    from lakesieve.tables import TableVersion


class ListedTable:
    """A table of the toy format on Spark."""

    merges_on_read = False
    row_positions = True
    reads_row_blocks = False

    def __init__(self, spark: SparkSession, location: str) -> None:
        self._spark = spark
        self.reader = ListedReader(f"listed:{location}", location, options_by_environment())

    def raw_rows(self, version: TableVersion, read: RawRead) -> DataFrame:
        """Return the keys of the rows as written, and their files."""
        from pyspark.sql import functions as F

        paths = self.reader.live_files(version).column("path").to_pylist()[:: read.stride]
        rows = self._spark.read.parquet(*paths)
        file = F.col("_metadata.file_path")
        return rows.select(*raw_columns(rows, read, "_metadata.row_index", file))

    def names_in_rows(self, paths: pa.ChunkedArray) -> Sequence[pa.ChunkedArray]:
        """Return how raw rows may name files."""
        return encoded_paths(self._spark, paths)

    def rows(self, version: TableVersion) -> DataFrame:
        """Return the rows of a version."""
        paths = self.reader.live_files(version).column("path").to_pylist()
        return self._spark.read.parquet(*paths)


SPEC = FormatSpec(
    name="listed",
    at=ListedTable,
    named=lambda spark, name, _: ListedTable(spark, name),
    runtime="org.apache.spark.sql.execution.datasources.parquet.ParquetFileFormat",
    packages=None,
)


def test_indexes_of_the_format_are_built_on_spark(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An index is made, verified by rows, and used with a session and without."""
    monkeypatch.setitem(FORMATS, "listed", LISTED)
    monkeypatch.setitem(SPARK_FORMATS, "listed", SPEC)
    parts = {f"{at}.parquet": pa.table({"id": list(range(at, 40, 4))}) for at in range(4)}
    write_version(tmp_path, 1, parts)
    name = f"listed:{tmp_path}"

    index = ls.create_index(name, "id", spark=spark)

    assert index.verify_rows(files=None).wrong == ()
    for reached in ({"spark": spark}, {}):
        found = ls.find_files(name, "id = 7", **reached)  # type: ignore[arg-type]
        assert [path.rpartition("/")[2] for path in found.paths] == ["3.parquet"]
