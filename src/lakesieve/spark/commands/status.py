"""How much of a table carries row-level deletes, and which command gets rid of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.deletes.plan import plan_deletes
from lakesieve.index import TableStatus
from lakesieve.tables import open_table
from lakesieve.tables.delta import DeltaTable
from lakesieve.tables.hudi import HudiTable
from lakesieve.tables.iceberg import IcebergTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesieve.tables import Table, TableVersion

__all__ = ["status"]

THRESHOLD = 0.2


def status(
    table: str,
    *,
    spark: SparkSession,
    version: str | int | None = None,
    threshold: float = THRESHOLD,
) -> TableStatus:
    """Tell how many data files carry row-level deletes, and suggest what gets rid of them.

    Metadata alone is read. For equality deletes of Iceberg see ``lakesieve.deletes.status``.

    Args:
        table: ``catalog.database.table``; or ``iceberg:PATH``, ``delta:PATH``, ``hudi:PATH``.
        spark: The session.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        threshold: Share of the data files, 0 to 1, above which upkeep is suggested.

    Raises:
        NotFoundError: There is no such table or version.
        UnsupportedError: Spark cannot read the table.
    """
    opened = open_table(spark, table)
    version_read = opened.version(version)
    files, marked, delete_files, commands = _counted(spark, opened, version_read, table)
    share = marked / files if files else 0.0
    return TableStatus(
        table=table,
        format=opened.format,
        version=version_read.id,
        files=files,
        marked_files=marked,
        delete_files=delete_files,
        share=share,
        threshold=threshold,
        suggestions=tuple(commands) if share > threshold else (),
    )


def _counted(
    spark: SparkSession, opened: Table, version: TableVersion, table: str
) -> tuple[int, int, int, list[str]]:
    """Data files, those marked, position delete files, and what would remove them."""
    if isinstance(opened, IcebergTable):
        summary = plan_deletes(spark, table, version.id).summary
        commands = _iceberg_ways(table, summary["position_files"])
        return summary["data_files"], summary["marked_files"], summary["position_files"], commands
    live = opened.live_files(version)
    if isinstance(opened, DeltaTable):
        relation = opened.relation
        commands = [f"REORG TABLE {relation} APPLY (PURGE)", f"OPTIMIZE {relation}"]
        return live.num_rows, opened.marked_files(version), 0, commands
    if isinstance(opened, HudiTable):
        marked = live.num_rows - live.column("indexable").to_pylist().count(True)
        named = f"{'table' if opened.is_named else 'path'} => '{opened.name}'"
        return (
            live.num_rows,
            marked,
            0,
            [f"CALL run_compaction(op => 'scheduleAndExecute', {named})"],
        )
    return live.num_rows, 0, 0, []


def _iceberg_ways(table: str, position_files: int) -> list[str]:
    catalog, _, name = table.partition(".")
    if not name or ":" in table:
        catalog, name = "CATALOG", table
    named = f"table => '{name}'"
    rewrite = f"{named}, options => map('delete-file-threshold', '1')"
    commands = [f"CALL {catalog}.system.rewrite_data_files({rewrite})"]
    if position_files:
        commands.append(f"CALL {catalog}.system.rewrite_position_delete_files({named})")
    return commands
