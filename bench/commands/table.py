"""The table that commands change: keys in no order, in many files, with an index on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import lakesieve as ls

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["KEY", "KINDS", "ROW", "Facts", "Kind", "build", "keys_where", "table_of"]

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


def table_of(kind: Kind) -> str:
    """The table's name."""
    return f"{'lake' if kind.format == 'iceberg' else 'spark_catalog'}.commands.rows"


def build(spark: SparkSession, root: Path, kind: Kind, facts: Facts) -> str:
    """Write the table and its index; tells its name."""
    name = table_of(kind)
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {name.rpartition('.')[0]}")
    spark.sql(f"DROP TABLE IF EXISTS {name}")
    place = root / f"{kind.format}_rows"
    at = "" if kind.format == "iceberg" else f"LOCATION '{place}'"
    spark.sql(
        f"CREATE TABLE {name} (id BIGINT, k BIGINT, v DOUBLE, payload STRING) USING {kind.format} "
        f"{at} TBLPROPERTIES ({kind.properties})"
    )
    rows = spark.range(0, facts.rows, 1, facts.files).selectExpr(*ROW)
    if kind.format == "hudi":
        options = {
            "hoodie.table.name": "rows",
            "hoodie.datasource.write.operation": "bulk_insert",
            "hoodie.datasource.write.recordkey.field": "k",
            "hoodie.bulkinsert.sort.mode": "NONE",
            "hoodie.parquet.small.file.limit": "0",
        }
        rows.write.format("hudi").options(**options).mode("append").save(str(place))
        spark.catalog.refreshTable(name)
    elif kind.format == "delta":
        rows.write.format("delta").mode("append").save(str(place))
    else:
        rows.writeTo(name).append()
    ls.create_index(name, ["k"], spark=spark)
    return name


def keys_where(spark: SparkSession, first: int, last: int, step: int = 1) -> DataFrame:
    """Keys of every ``step``-th row of a stretch, by its id; ids follow the order of the files."""
    return spark.range(first, last, step, 2).selectExpr(f"{KEY} AS k")
