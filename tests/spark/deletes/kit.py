"""Write equality deletes for the tests, because Spark cannot."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

from tests.spark.own_jars import helper_class

from lakesieve.spark.versions.java_classes import java_class, java_list

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["EqualityDeletes", "load", "rows_of", "stock_rows"]


def load(spark: SparkSession, name: str) -> Any:
    """Load Iceberg's own object of a table."""
    tables = java_class(spark, "org.apache.iceberg.spark.Spark3Util")
    table = tables.loadIcebergTable(spark._jsparkSession, name)
    table.refresh()
    return table


def rows_of(frame: DataFrame) -> list[str]:
    """Return the rows of a frame as sorted texts."""
    return sorted(map(repr, frame.collect()))


def stock_rows(spark: SparkSession, name: str, version: str | None = None) -> list[str]:
    """Return the rows that Iceberg's own reader gives, as sorted texts."""
    reader = spark.read.format("iceberg")
    if version is not None:
        reader = reader.option("versionAsOf", version)
    return rows_of(reader.load(name))


class EqualityDeletes:
    """Writes equality delete files for one table.

    Args:
        spark: The session.
        name: The table.
    """

    def __init__(self, spark: SparkSession, name: str) -> None:
        self._spark = spark
        self._name = name
        self._writer = helper_class(spark, "DeleteWriter")()

    def partitions(self, *, branch: str | None = None) -> list[Any]:
        """The partitions that have data files."""
        return list(self._writer.partitions(load(self._spark, self._name), branch))

    def everywhere(self) -> Any:
        """The partition of deletes that apply to all partitions; ``None`` if the table has none."""
        return self._writer.everywhere(load(self._spark, self._name))

    def delete(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[Any]],
        *,
        partition: Any = None,
        format: str = "parquet",  # noqa: A002 -- the word of the table property
        branch: str | None = None,
    ) -> str:
        """Write one delete file and commit it. Return its path.

        Args:
            columns: The equality columns.
            rows: Values in the order of the columns, as JSON has them.
            partition: One of ``partitions``; by default the first, or everywhere.
            format: Format of the delete file.
            branch: The branch to commit to.
        """
        table = load(self._spark, self._name)
        found = partition or self.everywhere() or self.partitions(branch=branch)[0]
        names, texts = java_list(self._spark, tuple(columns)), java_list(self._spark)
        for row in rows:
            values = tuple(None if value is None else json.dumps(value) for value in row)
            texts.add(java_list(self._spark, values))
        path = f"{table.location()}/data/{uuid.uuid4().hex}-eq.{format}"
        written = self._writer.write(table, found, names, texts, format, path)
        self._writer.commit(table, java_list(self._spark, (written,)), branch)
        return path

    def replace_by_copies(self) -> None:
        """Replace every data file by a copy with its sequence number, as old compactions do."""
        self._writer.replaceByCopies(load(self._spark, self._name))
