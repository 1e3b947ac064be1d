"""Hudi: its record-level, secondary, column-statistics and Bloom-filter indexes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from bench.formats.table import Peer, linked_copy, seconds_of, size_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from bench.formats.case import Case

__all__ = ["Hudi"]

_STATISTICS = "hoodie.metadata.index.column.stats.enable"
_LOCK = "org.apache.hudi.client.transaction.lock.InProcessLockProvider"
_RECORDS = "hoodie.metadata.global.record.level.index.enable"
_SKIPPING = {"hoodie.metadata.enable": "true", "hoodie.enable.data.skipping": "true"}
# a query looks each file's filter up by Spark jobs of its own: minutes for a thousand files
_BLOOM_FILES = 50
# name, copy, what it is a copy of, options, command that makes it, folders of the index, questions
_PEERS: tuple[tuple[str, str, str, dict[str, str], str, str, tuple[str, ...]], ...] = (
    (
        "record-level index",
        "records",
        "",
        {_RECORDS: "true"},
        "CREATE INDEX record_index ON {0} (k)",
        "record_index",
        ("point", "list"),
    ),
    # leads to record keys, which the other one finds
    (
        "secondary index",
        "second",
        "_records",
        {_RECORDS: "true"},
        "CREATE INDEX by_s ON {0} (s)",
        "secondary_index_*",
        ("second",),
    ),
    (
        "column statistics",
        "statistics",
        "",
        {_STATISTICS: "true"},
        "",
        "*_stats",
        ("point", "range"),
    ),
    (
        "Bloom filters",
        "bloom",
        "",
        {},
        "CREATE INDEX by_k ON {0} USING bloom_filters(k) OPTIONS(expr='identity')",
        "expr_index_*",
        ("point",),
    ),
)


def _run(spark: SparkSession, command: str) -> None:
    spark.sql(command).collect()


class Hudi:
    """A copy-on-write table in a folder, with a metadata table that lists its files.

    Args:
        spark: The session.
        folder: The folder.
        options: What it has besides, for reading and writing.
    """

    def __init__(
        self, spark: SparkSession, folder: Path, options: Mapping[str, str] | None = None
    ) -> None:
        self._spark = spark
        self._folder = folder
        self._options = {_STATISTICS: "false"} | dict(options or {})
        self.name = f"hudi:{folder}"

    def create(self, case: Case) -> None:
        """Write the table."""
        self._write(case.frame(self._spark), "bulk_insert")

    def read(self, version: str | None = None) -> DataFrame:
        """Its rows, of a version or the newest."""
        reader = self._spark.read.format("hudi").options(**self._options)
        return (reader.option("as.of.instant", version) if version else reader).load(
            str(self._folder)
        )

    def version(self) -> str:
        """The newest version."""
        timeline = (self._folder / ".hoodie" / "timeline").glob("*_*.commit")
        return max(path.name.partition("_")[0] for path in timeline)

    def append(self, rows: DataFrame) -> None:
        """Add rows."""
        self._write(rows, "bulk_insert")

    def delete(self, condition: str) -> None:
        """Delete rows."""
        self._write(self.read().where(condition), "delete")

    def _write(self, rows: DataFrame, operation: str) -> None:
        options = {
            "hoodie.table.name": "formats",
            "hoodie.datasource.write.recordkey.field": "k",
            "hoodie.datasource.write.partitionpath.field": "",
            "hoodie.datasource.write.operation": operation,
            "hoodie.bulkinsert.sort.mode": "NONE",
            "hoodie.parquet.small.file.limit": "0",
            "hoodie.clean.automatic": "false",
        }
        rows.write.format("hudi").options(**options, **self._options).mode("append").save(
            str(self._folder)
        )

    def peers(self, case: Case) -> Iterator[Peer]:
        """The format's own means, each on a copy of its own."""
        # an index is built beside other writers
        self._spark.conf.set("hoodie.write.lock.provider", _LOCK)
        for name, short, base, options, command, folder, kinds in _PEERS:
            if short == "bloom" and case.files > _BLOOM_FILES:
                continue
            source, target = (
                self._folder.with_name(f"{self._folder.name}{end}") for end in (base, f"_{short}")
            )
            linked_copy(source, target)
            table = Hudi(self._spark, target, _SKIPPING | options)
            entry = f"spark_catalog.default.{target.name}"
            self._spark.sql(f"CREATE TABLE {entry} USING hudi LOCATION '{target}'")
            if command:
                result = command.format(f"default.{target.name}")
                seconds = seconds_of(partial(_run, self._spark, result))
            else:
                # the next commit makes what the options ask for
                nothing = case.more(self._spark).limit(0)
                seconds = seconds_of(partial(table.append, nothing))
            size = size_of(target / ".hoodie" / "metadata", f"{folder}/**/*")
            yield Peer(name=name, table=table, seconds=seconds, size=size, kinds=kinds)
