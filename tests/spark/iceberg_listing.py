"""What Iceberg's own metadata tables say of a table, beside what the reader says."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.tables.paths import table_root

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.tables.iceberg.table import IcebergReader

__all__ = ["check_by_iceberg"]


def check_by_iceberg(
    spark: SparkSession,
    name: str,
    reader: IcebergReader,
    versions: Sequence[str | None],
    branch: str = "main",
) -> None:
    """Insist that a reader lists the files, deletes and references that Iceberg lists in Spark.

    Args:
        spark: The session.
        name: The table's name in it.
        reader: The reader of the same table.
        versions: Versions to compare, as a user names them.
        branch: The branch that the session reads.
    """

    def listed(what: str, version: str | None = None) -> DataFrame:
        frame = spark.read.format("iceberg")
        return (frame if version is None else frame.option("versionAsOf", version)).load(
            f"{name}.{what}"
        )

    refs = {row.name: str(row.snapshot_id) for row in listed("refs").collect()}
    assert list(reader.references()) == sorted(refs.keys() - {branch})
    kept = {table_root(row.file_path) for row in listed("all_data_files").collect()}
    assert set(reader.retained_files().to_pylist()) == kept
    for spec in versions:
        version = reader.version(spec)
        expected = refs.get(branch if spec is None else spec, spec)
        assert version.id == expected, spec
        if version.id is None:
            continue
        files = listed("files", version.id).collect()
        live = reader.live_files(version).select(["path", "size", "records"]).to_pylist()
        assert sorted(tuple(row.values()) for row in live) == sorted(
            (table_root(row.file_path), row.file_size_in_bytes, row.record_count)
            for row in files
            if row.content == 0
        ), spec
        counts = reader.delete_counts(version)
        if counts is not None:
            rows = [sum(row.record_count for row in files if row.content == n) for n in (1, 2)]
            assert [counts.positions, counts.equality] == rows, spec
