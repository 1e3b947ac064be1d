"""Data files that are added to Iceberg tables without Iceberg's writers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.spark.versions.java_classes import java_class
from lakesieve.storage import local_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

__all__ = ["described_file"]


def described_file(
    spark: SparkSession, table: Any, path: str, rows: int, offsets: Sequence[int] | None
) -> Any:
    """Return the description of a data file of a table.

    Args:
        spark: The session.
        table: Iceberg's own object of a table without partitions.
        path: Location of the file.
        rows: Rows of the file.
        offsets: Where its row groups begin; ``None`` if the metadata does not say it.
    """
    builder = java_class(spark, "org.apache.iceberg.DataFiles").builder(table.spec())
    builder = builder.withPath(path).withFormat("parquet").withRecordCount(rows)
    builder = builder.withFileSizeInBytes(local_path(path).stat().st_size)
    if offsets is not None:
        gateway: Any = spark.sparkContext._gateway
        longs = gateway.new_array(gateway.jvm.long, len(offsets))
        for at, offset in enumerate(offsets):
            longs[at] = offset
        arrays = java_class(spark, "org.apache.iceberg.util.ArrayUtil")
        builder = builder.withSplitOffsets(arrays.toLongList(longs))
    return builder.build()
