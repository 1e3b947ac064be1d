"""The contract of Spark's table adapters: a table reader, and what only Spark can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame

    from lakesieve.spark.tables.changes import TableChanges
    from lakesieve.spark.tables.row_deletes import RowDeletes
    from lakesieve.tables import Column, TableReader, TableVersion

RAW_READ = "lakesieve-raw-read"
"""Read option that the optimizer rule obeys: read rows as written, without row-level deletes.

Its value is n, to read every n-th data file, and the name of a selection of files, if any.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRead:
    """What a read of rows as written returns.

    Args:
        columns: The columns whose values are read.
        split_bytes: Approximate bytes of files that a task reads.
        stride: Only every ``stride``-th file is read.
        selection: The name that ``raw_reads`` yields.
        positions: Whether to return the number of each row in its file.
    """

    columns: Sequence[Column]
    split_bytes: int
    stride: int = 1
    selection: str = ""
    positions: bool = False

    @property
    def option(self) -> str:
        """Value of ``RAW_READ``, with which the read tells the rule what it wants."""
        return f"{self.stride} {self.selection}".strip()


class SparkTable(Protocol):
    """A table that a Spark session can read. Every adapter fulfils this contract."""

    @property
    def reader(self) -> TableReader:
        """Reader of the table's metadata, without Spark."""

    @property
    def merges_on_read(self) -> bool:
        """True if row-level commands write deletes instead of rewriting data files."""

    @property
    def row_positions(self) -> bool:
        """True if raw reads can return the position of each row in its data file."""

    @property
    def reads_row_blocks(self) -> bool:
        """True if scans of a session read only the row blocks that an index names."""

    def raw_rows(self, version: TableVersion, read: RawRead) -> DataFrame:
        """Return rows of a version as written, ignoring row-level deletes.

        It is valid only inside the rule's ``raw_reads`` context.

        Returns:
            ``key_0``, ``key_1`` and so on; ``position``, the number of the row in its file, if
            wanted; and ``file``, the name of the data file; see ``names_in_rows``.
        """

    def names_in_rows(self, paths: pa.ChunkedArray) -> Sequence[pa.ChunkedArray]:
        """Return how raw rows may name data files.

        It is work for each file here, so that there is none for each row.

        Args:
            paths: The ``scanned`` of live files, or their ``path`` if they have none.

        Returns:
            Spellings of the names; each array has the files in their order.
        """

    def rows(self, version: TableVersion) -> DataFrame:
        """Return the rows and columns of a version as readers see them, with deletes applied."""


@runtime_checkable
class ChangeableTable(Protocol):
    """A table whose rows can be changed by key."""

    def changes(self) -> TableChanges:
        """Return how the table's rows are changed."""


@runtime_checkable
class MarkedTable(Protocol):
    """A table whose data files can carry row-level deletes."""

    def row_deletes(self, version: TableVersion) -> RowDeletes:
        """Count the row-level deletes of a version from metadata alone."""


@runtime_checkable
class CopyableTable(Protocol):
    """A table that can share its data files with another."""

    def copy_to(self, name: str, version: TableVersion) -> None:
        """Make another table that begins as a version of this one and shares its data files.

        The other table must never delete files of this version, so that is switched off.
        """
