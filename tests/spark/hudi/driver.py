"""How Hudi tables are made and changed in the tests."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["DRIVERS", "HudiDriver", "MergeOnReadDriver", "OlderDriver"]


class HudiDriver:
    """A copy-on-write table with a metadata table."""

    can_rename = False
    has_versions = True
    reads_changed_files = False
    stores_partition_values = False
    kind = "COPY_ON_WRITE"
    settings: dict[str, str] = {}  # noqa: RUF012 - those of a subclass

    def __init__(self, spark: SparkSession, folder: Path, name: str) -> None:
        self.spark = spark
        self.folder = folder
        self.name = f"hudi:{folder}"
        self.table = name
        self.partitioning = ""

    def create(self, rows: DataFrame, partitioned_by: str | None = None) -> None:
        self.partitioning = partitioned_by or ""

    def write(self, rows: DataFrame, operation: str, **more: str) -> None:
        options = {
            "hoodie.table.name": self.table,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": self.partitioning,
            "hoodie.datasource.write.partitionpath.urlencode": "true",
            "hoodie.datasource.write.table.type": self.kind,
            "hoodie.datasource.write.operation": operation,
            "hoodie.bulkinsert.sort.mode": "NONE",
            "hoodie.parquet.small.file.limit": "0",
            "hoodie.clean.automatic": "false",
        }
        options |= self.settings | more
        rows.write.format("hudi").options(**options).mode("append").save(str(self.folder))

    @property
    def entry(self) -> str:
        """Its name in the catalog, made at its first use."""
        name = f"spark_catalog.default.{self.table}"
        if not self.spark.catalog.tableExists(name):
            self.spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{self.folder}'")
        return name

    def append(self, rows: DataFrame) -> None:
        self.write(rows, "bulk_insert")

    def delete(self, condition: str) -> None:
        self.spark.sql(f"DELETE FROM {self.entry} WHERE {condition}")

    def update(self, assignment: str, condition: str) -> None:
        self.spark.sql(f"UPDATE {self.entry} SET {assignment} WHERE {condition}")

    def compact(self) -> None:
        self.call("run_clustering", "op => 'scheduleAndExecute'")

    def call(self, procedure: str, *arguments: str) -> None:
        given = ", ".join((f"table => '{self.entry.partition('.')[2]}'", *arguments))
        self.spark.sql(f"CALL {procedure}({given})").collect()

    def frame(self, **options: str) -> DataFrame:
        return self.spark.read.format("hudi").options(**options).load(str(self.folder))

    def version(self) -> str:
        return max(path.name.partition("_")[0] for path in self.commits())

    def plain_name(self) -> str:
        return self.name

    def versions(self) -> list[str]:
        # each takes a session some jobs
        times = [path.name.partition("_")[0] for path in self.commits()]
        return sorted({times[0], times[len(times) // 2]})

    def commits(self) -> list[Path]:
        """What marks commits as completed, the oldest first."""
        return sorted((self.folder / ".hoodie" / "timeline").glob("*_*commit"))

    def relation(self, version: str | None = None) -> str:
        if version is None:
            return self.entry
        # Hudi's parser of TIMESTAMP AS OF knows fewer types than Spark's
        view = f"{self.table}_{version}"
        self.frame(**{"as.of.instant": version}).createOrReplaceTempView(view)
        return view

    def relations(self) -> Sequence[str]:
        self.frame().createOrReplaceTempView("by_path")
        then = f"{self.entry} TIMESTAMP AS OF '{self.version()}'"
        return [self.relation(), then, "by_path"]

    def rename(self, old: str, new: str) -> None:
        raise NotImplementedError

    def drop_and_add(self, column: str, kind: str) -> None:
        raise NotImplementedError

    def recreate(self, rows: DataFrame) -> None:
        index, aside = self.folder / "_lakesieve", self.folder.with_name("aside")
        index.rename(aside)
        self.drop()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.append(rows)
        aside.rename(index)

    def supplant(self, rows: DataFrame) -> None:
        self.drop()
        self.folder = self.folder.with_name(f"{self.folder.name}2")
        self.append(rows)
        assert self.entry

    def drop(self) -> None:
        self.spark.sql(f"DROP TABLE IF EXISTS spark_catalog.default.{self.table}")


class MergeOnReadDriver(HudiDriver):
    """A merge-on-read table without a metadata table."""

    reads_changed_files = True
    kind = "MERGE_ON_READ"
    settings = {"hoodie.metadata.enable": "false", "hoodie.compact.inline": "false"}  # noqa: RUF012

    def compact(self) -> None:
        self.call(
            "run_compaction",
            "op => 'scheduleAndExecute'",
            "options => 'hoodie.compact.inline.max.delta.commits=1'",
        )


class OlderDriver(MergeOnReadDriver):
    """The same as Hudi 0.14 writes it: log files are named by their base file's commit."""

    settings = MergeOnReadDriver.settings | {
        "hoodie.write.table.version": "6",
        "hoodie.write.auto.upgrade": "false",
    }


DRIVERS = {"copy_on_write": HudiDriver, "merge_on_read": MergeOnReadDriver}
