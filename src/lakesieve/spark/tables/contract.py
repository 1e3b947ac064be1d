"""The contract of the Spark adapters: a table's reader, and what only Spark can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from lakesieve.spark.tables.changes import TableChanges
    from lakesieve.spark.tables.row_deletes import RowDeletes
    from lakesieve.tables import Column, TableReader, TableVersion

RAW_READ = "lakesieve-raw-read"
"""Read option, obeyed by the optimizer rule: rows as written, row-level deletes ignored.

Its value is n, to read every n-th data file, and the name of a selection of files, if any."""


class SparkTable(Protocol):
    """A table that a Spark session can read: the contract of every adapter."""

    @property
    def reader(self) -> TableReader:
        """Reads the table's metadata without Spark."""

    @property
    def merges_on_read(self) -> bool:
        """Whether row-level commands write deletes, instead of data files anew."""

    def raw_rows(
        self,
        version: TableVersion,
        columns: Sequence[Column],
        *,
        split_bytes: int,
        stride: int = 1,
        selection: str = "",
    ) -> DataFrame:
        """Rows as written, row-level deletes ignored.

        Only valid inside the rule's ``raw_reads`` context.

        Args:
            version: The version whose files are read.
            columns: Whose values are read.
            split_bytes: About how many bytes of files a task reads.
            stride: Only every ``stride``-th file is read.
            selection: As ``raw_reads`` names it.

        Returns:
            ``key_0``, ``key_1`` and so on, and ``file``, the data file as the engine names it:
            ``scanned`` of its live files.
        """

    def rows(self, version: TableVersion) -> DataFrame:
        """Rows of a version as its readers see them: row-level deletes applied, its own columns."""


@runtime_checkable
class ChangeableTable(Protocol):
    """A table whose rows can be changed by key."""

    def changes(self) -> TableChanges:
        """How its rows are changed."""


@runtime_checkable
class MarkedTable(Protocol):
    """A table whose data files can carry row-level deletes."""

    def row_deletes(self, version: TableVersion) -> RowDeletes:
        """Count those of a version, by metadata alone."""


@runtime_checkable
class CopyableTable(Protocol):
    """A table that can share its data files with another."""

    def copy_to(self, name: str, version: TableVersion) -> None:
        """Make another table that begins as a version of this one, sharing its data files.

        Deleting files of that version from the other table is switched off for good.
        """
