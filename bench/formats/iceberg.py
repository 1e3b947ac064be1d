"""Iceberg: sorted by the key, and in Z-order of both columns, by its own rewriting."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from bench.formats.table import Peer, seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame, SparkSession

    from bench.formats.case import Case

__all__ = ["Iceberg"]


class Iceberg:
    """A table of the session's catalog ``lake``.

    Args:
        spark: The session.
        short: Its name in there.
    """

    def __init__(self, spark: SparkSession, short: str = "main") -> None:
        self._spark = spark
        self.name = f"lake.formats.{short}"

    def create(self, case: Case) -> None:
        """Write the table."""
        self._spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.formats")
        writer = case.frame(self._spark).writeTo(self.name).using("iceberg")
        writer.tableProperty("write.distribution-mode", "none").create()

    def read(self, version: str | None = None) -> DataFrame:
        """Its rows, of a version or the newest."""
        reader = self._spark.read.format("iceberg")
        return (reader.option("versionAsOf", version) if version else reader).load(self.name)

    def version(self) -> str:
        """The newest version."""
        newest = self._spark.sql(
            f"SELECT snapshot_id FROM {self.name}.snapshots ORDER BY committed_at DESC LIMIT 1"
        )
        return str(newest.collect()[0][0])

    def append(self, rows: DataFrame) -> None:
        """Add rows."""
        rows.writeTo(self.name).append()

    def delete(self, condition: str) -> None:
        """Delete rows."""
        self._spark.sql(f"DELETE FROM {self.name} WHERE {condition}")

    def peers(self, case: Case) -> Iterator[Peer]:
        """The format's own means, each on a copy of its own."""
        for name, short, order, kinds in (
            ("sorted by k", "by_k", "k", ("point", "range")),
            ("Z-order (k, s)", "by_z", "zorder(k, s)", ("point", "range", "second")),
        ):
            table = Iceberg(self._spark, short)
            table.create(case)
            seconds = seconds_of(partial(table._rewrite, case, order))
            yield Peer(name=name, table=table, seconds=seconds, size=0, kinds=kinds)

    def _rewrite(self, case: Case, order: str) -> None:
        files: Any = self._spark.sql(
            f"SELECT sum(file_size_in_bytes) AS size FROM {self.name}.files"
        ).collect()[0]
        # as many files as before: the planner rounds, and sorted rows are smaller
        target = max(1, int(0.9 * files["size"] / case.files))
        options = {
            "rewrite-all": "true",
            "target-file-size-bytes": target,
            "min-file-size-bytes": target // 2,
            "max-file-size-bytes": 2 * target,
        }
        text = ", ".join(f"'{key}', '{value}'" for key, value in options.items())
        self._spark.sql(
            f"CALL lake.system.rewrite_data_files(table => '{self.name.partition('.')[2]}', "
            f"strategy => 'sort', sort_order => '{order}', options => map({text}))"
        ).collect()
