"""How each format does what the contract suite asks for."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyspark
from tests.kit.driver import Driver

from lakesieve.spark.tables import FORMATS, open_table
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

__all__ = [
    "DRIVERS",
    "DeltaDriver",
    "DeltaIdDriver",
    "IcebergDriver",
    "OpenDriver",
    "ParquetDriver",
]


class OpenDriver(Driver, Protocol):
    """A driver of a table that can be opened without a session."""

    def plain_name(self) -> str:
        """Its name there."""

    def versions(self) -> list[str]:
        """Some versions besides the current one."""


class _SqlDriver:
    """What Iceberg and Delta have in common: catalog tables, changed by SQL."""

    can_rename = True
    has_versions = True
    reads_changed_files = False
    stores_partition_values = False
    provider = ""
    properties = ""

    def __init__(self, spark: SparkSession, folder: Path, name: str) -> None:
        self.spark = spark
        self.folder = folder
        self.name = self.entry = name

    def create(self, rows: DataFrame, partitioned_by: str | None = None) -> None:
        rows.createOrReplaceTempView("schema_of")
        partitioning = f"PARTITIONED BY ({partitioned_by})" if partitioned_by else ""
        self.spark.sql(
            f"CREATE TABLE {self.name} USING {self.provider} {partitioning} "
            f"{self.location_clause()} TBLPROPERTIES ({self.properties}) "
            "AS SELECT * FROM schema_of LIMIT 0"
        )

    def location_clause(self) -> str:
        return ""

    def append(self, rows: DataFrame) -> None:
        rows.writeTo(self.name).append()

    def delete(self, condition: str) -> None:
        self.spark.sql(f"DELETE FROM {self.name} WHERE {condition}")

    def update(self, assignment: str, condition: str) -> None:
        self.spark.sql(f"UPDATE {self.name} SET {assignment} WHERE {condition}")

    def relation(self, version: str | None = None) -> str:
        return self.name if version is None else f"{self.name} VERSION AS OF {version}"

    def rename(self, old: str, new: str) -> None:
        self.spark.sql(f"ALTER TABLE {self.name} RENAME COLUMN {old} TO {new}")

    def drop_and_add(self, column: str, kind: str) -> None:
        self.spark.sql(f"ALTER TABLE {self.name} DROP COLUMN {column}")
        self.spark.sql(f"ALTER TABLE {self.name} ADD COLUMN {column} {kind}")

    def recreate(self, rows: DataFrame) -> None:
        self.spark.sql(f"DROP TABLE {self.name}")
        self.create(rows)
        self.append(rows)

    def supplant(self, rows: DataFrame) -> None:
        self.spark.sql(f"DROP TABLE {self.name}")
        self.folder = self.folder.with_name(f"{self.folder.name} 2")
        self.create(rows)
        self.append(rows)


class IcebergDriver(_SqlDriver):
    """Iceberg, merge on read."""

    provider = "iceberg"
    stores_partition_values = True
    properties = (
        "'format-version'='3', 'write.distribution-mode'='none', "
        "'write.spark.fanout.enabled'='true', 'write.delete.mode'='merge-on-read', "
        "'write.update.mode'='merge-on-read', 'write.merge.mode'='merge-on-read'"
    )

    def __init__(self, spark: SparkSession, folder: Path, name: str) -> None:
        super().__init__(spark, folder, f"lake.contract.{name}")

    def version(self) -> str:
        rows = self.spark.sql(
            f"SELECT snapshot_id FROM {self.name}.snapshots ORDER BY committed_at"
        )
        return str(rows.collect()[-1][0])

    def compact(self) -> None:
        self.spark.sql(
            f"CALL lake.system.rewrite_data_files(table => '{self.name}', "
            "options => map('rewrite-all', 'true'))"
        )

    def relations(self) -> Sequence[str]:
        return [self.name]

    def plain_name(self) -> str:
        return self.name

    def versions(self) -> list[str]:
        rows = self.spark.sql(f"SELECT snapshot_id FROM {self.name}.snapshots").collect()
        return [str(row[0]) for row in rows]

    def supplant(self, rows: DataFrame) -> None:
        # a Hadoop catalog's tables lie where their names say
        location = Path(open_table(self.spark, self.name).reader.location)
        aside = self.folder.with_name("aside")
        (location / "_lakesieve").rename(aside)
        self.recreate(rows)
        aside.rename(location / "_lakesieve")


class DeltaDriver(_SqlDriver):
    """Delta with deletion vectors and column mapping by name."""

    provider = "delta"
    properties = "'delta.enableDeletionVectors'='true', 'delta.columnMapping.mode'='name'"

    def __init__(self, spark: SparkSession, folder: Path, name: str) -> None:
        super().__init__(spark, folder, f"spark_catalog.contract.{name}")
        spark.sql("CREATE DATABASE IF NOT EXISTS spark_catalog.contract")

    def location_clause(self) -> str:
        return f"LOCATION '{self.folder}'"

    def append(self, rows: DataFrame) -> None:
        rows.write.format("delta").mode("append").save(str(self.folder))

    def version(self) -> str:
        # DESCRIBE HISTORY would read all of the log
        return str(max(int(p.stem) for p in (self.folder / "_delta_log").glob("*[0-9].json")))

    def compact(self) -> None:
        self.spark.sql(f"OPTIMIZE {self.name}")

    def plain_name(self) -> str:
        return f"delta:{self.folder}"

    def versions(self) -> list[str]:
        # each takes a session some jobs
        last = int(self.version())
        return [str(number) for number in {0, last // 2}]

    def relations(self) -> Sequence[str]:
        return [self.name, f"delta.`{self.folder}`"]

    def recreate(self, rows: DataFrame) -> None:
        self.spark.sql(f"DROP TABLE {self.name}")
        index, aside = self.folder / "_lakesieve", self.folder.with_name("aside")
        index.rename(aside)
        shutil.rmtree(self.folder)
        self.create(rows)
        self.append(rows)
        aside.rename(index)


class DeltaIdDriver(DeltaDriver):
    """Delta with column mapping by id, without deletion vectors."""

    properties = "'delta.enableDeletionVectors'='false', 'delta.columnMapping.mode'='id'"


class ParquetDriver:
    """A directory of Parquet files, changed by writing its files again."""

    can_rename = False
    has_versions = False
    reads_changed_files = False
    stores_partition_values = False

    def __init__(self, spark: SparkSession, folder: Path, name: str) -> None:
        self.spark = spark
        self.folder = folder
        self.name = f"parquet:{folder}"
        self.table = name
        self.partitioning: list[str] = []

    def create(self, rows: DataFrame, partitioned_by: str | None = None) -> None:
        self.partitioning = [partitioned_by] if partitioned_by else []
        self.schema = rows.schema

    def append(self, rows: DataFrame) -> None:
        rows.write.partitionBy(*self.partitioning).mode("append").parquet(str(self.folder))

    def delete(self, condition: str) -> None:
        self._rewrite(f"SELECT * FROM {self.relation()} WHERE NOT coalesce({condition}, false)")

    def update(self, assignment: str, condition: str) -> None:
        changed = dict(pair.split(" = ", 1) for pair in assignment.split(", ", 1))
        columns = (
            f"IF(coalesce({condition}, false), {changed[name]}, {name}) AS {name}"
            if name in changed
            else name
            for name in self.schema.names
        )
        self._rewrite(f"SELECT {', '.join(columns)} FROM {self.relation()}")

    def compact(self) -> None:
        self._rewrite(f"SELECT /*+ COALESCE(1) */ * FROM {self.relation()}")

    def _rewrite(self, query: str) -> None:
        other = self.folder.with_name(f"{self.folder.name} new")
        self.spark.sql(query).write.partitionBy(*self.partitioning).parquet(str(other))
        self._empty()
        for entry in other.iterdir():
            entry.rename(self.folder / entry.name)
        other.rmdir()
        self.spark.catalog.refreshByPath(str(self.folder))

    def _empty(self) -> None:
        for entry in self.folder.iterdir():
            if entry.name != "_lakesieve":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def version(self) -> None:
        return None

    def plain_name(self) -> str:
        return self.name

    def versions(self) -> list[str]:
        return []

    def relation(self, version: str | None = None) -> str:
        assert version is None
        return f"parquet.`{self.folder}`"

    @property
    def entry(self) -> str:
        name = f"spark_catalog.default.{self.table}"
        if not self.spark.catalog.tableExists(name):
            self.spark.sql(f"CREATE TABLE {name} USING parquet LOCATION '{self.folder}'")
        return name

    def relations(self) -> Sequence[str]:
        return [self.relation(), self.entry]

    def rename(self, old: str, new: str) -> None:
        raise NotImplementedError

    def drop_and_add(self, column: str, kind: str) -> None:
        raise NotImplementedError

    def recreate(self, rows: DataFrame) -> None:
        self._empty()
        self.append(rows)

    def supplant(self, rows: DataFrame) -> None:
        self.spark.sql(f"DROP TABLE {self.entry}")
        self.folder = self.folder.with_name(f"{self.folder.name} 2")
        self.append(rows)
        assert self.entry


_DRIVERS: dict[str, Callable[[SparkSession, Path, str], OpenDriver]] = {
    "iceberg": IcebergDriver,
    "delta": DeltaDriver,
    "parquet": ParquetDriver,
}
DRIVERS = {
    name: driver
    for name, driver in _DRIVERS.items()
    if FORMATS[name].runs_on(spark_version_of(pyspark.__version__).name)
}
"""The drivers of the formats that have a runtime for this version of Spark."""
