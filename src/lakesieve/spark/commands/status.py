"""Report the row-level deletes of a table, and the commands that remove them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.defaults import MARKED_FILES
from lakesieve.index import TableStatus
from lakesieve.spark.tables import open_table
from lakesieve.spark.tables.contract import MarkedTable
from lakesieve.spark.tables.row_deletes import RowDeletes

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def status(
    table: str,
    *,
    spark: SparkSession,
    version: str | int | None = None,
    threshold: float = MARKED_FILES,
) -> TableStatus:
    """Count the data files with row-level deletes, and suggest commands that remove the deletes.

    Only metadata is read. For equality deletes of Iceberg see ``lakesieve.deletes.status``.

    Args:
        table: ``catalog.database.table``; or ``iceberg:PATH``, ``delta:PATH``, ``hudi:PATH``.
        spark: The session.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        threshold: Share of the data files, 0 to 1, above which a command is suggested.

    Raises:
        NotFoundError: The table or the version does not exist.
        UnsupportedError: Spark cannot read the table.

    Examples:
        >>> ls.status("lake.shop.orders", spark=spark).marked_files
        0
    """
    opened = open_table(spark, table)
    version_read = opened.reader.version(version)
    if isinstance(opened, MarkedTable):
        counts = opened.row_deletes(version_read)
    else:
        counts = RowDeletes(files=opened.reader.live_files(version_read).num_rows)
    share = counts.marked_files / counts.files if counts.files else 0.0
    return TableStatus(
        table=table,
        format=opened.reader.format,
        version=version_read.id,
        files=counts.files,
        marked_files=counts.marked_files,
        delete_files=counts.delete_files,
        form=counts.form,
        share=share,
        threshold=threshold,
        suggestions=counts.commands if share > threshold else (),
    )
