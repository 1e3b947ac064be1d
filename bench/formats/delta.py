"""Delta: Z-order of both columns, and of the key alone, which sorts by it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bench.formats.table import Peer, linked_copy, seconds_of, size_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from bench.formats.case import Case

__all__ = ["Delta"]

_LARGEST = "spark.databricks.delta.optimize.maxFileSize"


class Delta:
    """A table in a folder.

    Args:
        spark: The session.
        folder: The folder.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self._folder = folder
        self.name = f"delta:{folder}"

    def create(self, case: Case) -> None:
        """Write the table."""
        case.frame(self._spark).write.format("delta").save(str(self._folder))

    def read(self, version: str | None = None) -> DataFrame:
        """Its rows, of a version or the newest."""
        reader = self._spark.read.format("delta")
        return (reader.option("versionAsOf", version) if version else reader).load(
            str(self._folder)
        )

    def version(self) -> str:
        """The newest version."""
        history = self._spark.sql(f"DESCRIBE HISTORY delta.`{self._folder}` LIMIT 1")
        return str(history.collect()[0]["version"])

    def append(self, rows: DataFrame) -> None:
        """Add rows."""
        rows.write.format("delta").mode("append").save(str(self._folder))

    def delete(self, condition: str) -> None:
        """Delete rows."""
        self._spark.sql(f"DELETE FROM delta.`{self._folder}` WHERE {condition}")

    def peers(self, case: Case) -> Iterator[Peer]:
        """The format's own means, each on a copy of its own."""
        for name, short, columns, kinds in (
            ("Z-order (k, s)", "z_both", "k, s", ("point", "range", "second")),
            ("Z-order (k)", "z_k", "k", ("point", "range")),
        ):
            folder = self._folder.with_name(f"{self._folder.name}_{short}")
            linked_copy(self._folder, folder)
            table = Delta(self._spark, folder)
            seconds = seconds_of(partial(table._order, case, columns))
            yield Peer(name=name, table=table, seconds=seconds, size=0, kinds=kinds)

    def _order(self, case: Case, columns: str) -> None:
        # as many files as before
        size = size_of(self._folder, "*.parquet") // case.files
        self._spark.conf.set(_LARGEST, str(max(1, size)))
        try:
            self._spark.sql(f"OPTIMIZE delta.`{self._folder}` ZORDER BY ({columns})").collect()
        finally:
            self._spark.conf.unset(_LARGEST)
