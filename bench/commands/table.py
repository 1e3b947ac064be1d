"""The table that commands change: keys in no order, in many files, with an index on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import lakesieve as ls

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "KEY",
    "KINDS",
    "ROW",
    "Facts",
    "Kind",
    "Target",
    "build",
    "build_part",
    "keys_where",
    "table_of",
]

# a prime and its golden section: keys are distinct, neighbours far apart, and nothing overflows
KEY = "(id * 84941944608L) % 137438953447L"
ROW = ("id", f"{KEY} AS k", "CAST(id % 1000 AS DOUBLE) AS v", "md5(CAST(id AS STRING)) AS payload")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of table.

    Args:
        format: Its format.
        properties: Table properties.
        faster: How many times faster a DELETE or UPDATE of one key must be.
        by_default: Whether it is measured when none is named.
    """

    format: str
    properties: str
    faster: float
    by_default: bool = True


_SPREAD = "'write.distribution-mode'='none'"
_MERGES = ", ".join(
    f"'write.{name}.mode'='merge-on-read'" for name in ("delete", "update", "merge")
)
KINDS = {
    "iceberg": Kind(format="iceberg", properties=f"{_SPREAD}, {_MERGES}", faster=5),
    "iceberg-copy-on-write": Kind(format="iceberg", properties=_SPREAD, faster=5, by_default=False),
    "delta": Kind(format="delta", properties="'delta.enableDeletionVectors'='true'", faster=5),
    "hudi": Kind(format="hudi", properties="type='cow', primaryKey='k'", faster=3),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """How large everything is.

    Args:
        rows: Rows of the table.
        files: Its data files, equally large.
        rounds: Timed rounds of each way.
    """

    rows: int
    files: int
    rounds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A table that commands change.

    Args:
        table: Its name.
        rows: Rows that were written to it.
    """

    table: str
    rows: int


def table_of(kind: Kind, called: str = "rows") -> str:
    """A table's name."""
    return f"{'lake' if kind.format == 'iceberg' else 'spark_catalog'}.commands.{called}"


def build(spark: SparkSession, root: Path, kind: Kind, facts: Facts) -> Target:
    """Write the table and its index."""
    target = _written(spark, root, kind, called="rows", count=facts.rows, files=facts.files)
    ls.create_index(target.table, ["k"], spark=spark)
    return target


def build_part(
    spark: SparkSession, root: Path, kind: Kind, facts: Facts, *, called: str, files: int
) -> Target:
    """Write so many of the table's data files as a table of their own, without an index."""
    rows = facts.rows // facts.files * files
    return _written(spark, root, kind, called=called, count=rows, files=files)


def _written(
    spark: SparkSession, root: Path, kind: Kind, *, called: str, count: int, files: int
) -> Target:
    name = table_of(kind, called)
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {name.rpartition('.')[0]}")
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    location = root / f"{kind.format}_{called}"
    at = "" if kind.format == "iceberg" else f"LOCATION '{location}'"
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, k BIGINT, v DOUBLE, payload STRING) USING {kind.format} "
        f"{at} TBLPROPERTIES ({kind.properties})"
    )
    rows = spark.range(0, count, 1, files).selectExpr(*ROW)
    if kind.format == "hudi":
        options = {
            "hoodie.table.name": called,
            "hoodie.datasource.write.operation": "bulk_insert",
            "hoodie.datasource.write.recordkey.field": "k",
            "hoodie.bulkinsert.sort.mode": "NONE",
            "hoodie.parquet.small.file.limit": "0",
        }
        rows.write.format("hudi").options(**options).mode("append").save(str(location))
        spark.catalog.refreshTable(name)
    elif kind.format == "delta":
        rows.write.format("delta").mode("append").save(str(location))
    else:
        rows.writeTo(name).append()
    return Target(table=name, rows=count)


def keys_where(spark: SparkSession, first: int, last: int, step: int = 1) -> DataFrame:
    """Keys of every ``step``-th row of a stretch, by its id; ids follow the order of the files."""
    return spark.range(first, last, step, 2).selectExpr(f"{KEY} AS k")
