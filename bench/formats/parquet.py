"""Parquet directories: Bloom filters in the files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.formats.table import Peer, seconds_of, size_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from bench.formats.case import Case

__all__ = ["Parquet"]


class Parquet:
    """A folder, read as a table of the session, which keeps the list of its files.

    Args:
        spark: The session.
        folder: The folder.
        options: How it is written.
    """

    def __init__(
        self, spark: SparkSession, folder: Path, options: dict[str, str] | None = None
    ) -> None:
        self._spark = spark
        self._folder = folder
        self._options = options or {}
        self._table = f"spark_catalog.default.{folder.name}"
        self.name = f"parquet:{folder}"

    def create(self, case: Case) -> None:
        """Write the table."""
        rows = case.frame(self._spark)
        rows.write.options(**self._options).parquet(str(self._folder))
        self._spark.sql(f"CREATE TABLE {self._table} USING parquet LOCATION '{self._folder}'")

    def read(self, version: str | None = None) -> DataFrame:  # noqa: ARG002 - the protocol's
        """Its rows, of a version or the newest."""
        return self._spark.table(self._table)

    def version(self) -> None:
        """There are none."""

    def append(self, rows: DataFrame) -> None:
        """There are no versions to compare."""
        raise NotImplementedError

    def delete(self, condition: str) -> None:
        """There are no versions to compare."""
        raise NotImplementedError

    def peers(self, case: Case) -> Iterator[Peer]:
        """The format's own means, each on a copy of its own."""
        options = {
            f"parquet.bloom.filter.{name}#{column}": value
            for column in ("k", "s")
            for name, value in (
                ("enabled", "true"),
                ("expected.ndv", str(max(1, case.rows // case.files))),
            )
        }
        folder = self._folder.with_name(f"{self._folder.name}_bloom")
        table = Parquet(self._spark, folder, options)
        seconds = seconds_of(lambda: table.create(case))
        size = size_of(folder, "*.parquet") - size_of(self._folder, "*.parquet")
        kinds = ("point", "second", "list")
        yield Peer(name="Bloom filters", table=table, seconds=seconds, size=size, kinds=kinds)
