"""What is told of a table: its indexes, and the state of its row-level deletes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.errors import LakesieveError
from lakesieve.index.registry import index_folders
from lakesieve.index.shown import Shown

if TYPE_CHECKING:
    from lakesieve.index.access import TableAccess


@dataclass(frozen=True, slots=True, kw_only=True)
class TableInfo(Shown):
    """A table of a catalog, and the names of its indexes.

    Args:
        name: The name by which the table is opened.
        format: ``iceberg``, ``delta``, ``hudi`` or ``parquet``; ``None`` if the table cannot be
            opened.
        indexes: Names of the indexes, from a listing of the table's index folders.
        error: Why the table or its index folders cannot be read; ``None`` without an error.

    Examples:
        >>> lake.tables()[0].indexes
        ('customer', 'id')
    """

    name: str
    format: str | None
    indexes: tuple[str, ...]
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableStatus(Shown):
    """How much of a table waits for the upkeep of its row-level deletes.

    Args:
        table: The table's name.
        format: Its format.
        version: The version looked at, or ``None`` for a table without data.
        files: Live data files; of Hudi, file slices.
        marked_files: Those with position deletes, a deletion vector or log files, which every read
            of them applies.
        delete_files: Position delete files of Iceberg format version 2.
        form: What holds the deletes, in the words of the format.
        share: ``marked_files`` of ``files``, 0 to 1.
        threshold: The share above which upkeep is suggested.
        suggestions: Commands that remove them, best first; none below the threshold.

    Examples:
        >>> ls.status("lake.shop.orders", spark=spark).files
        10
    """

    table: str
    format: str
    version: str | None
    files: int
    marked_files: int
    delete_files: int
    form: str
    share: float
    threshold: float
    suggestions: tuple[str, ...]


def table_info(access: TableAccess, name: str, location: str | None) -> TableInfo:
    """Open a table, and list the folders of its indexes; no index is read."""
    kind = None
    try:
        opened = access.open_table(name)
        kind = opened.format
        roots = access.roots(opened, location)
        found = {index for root in roots for index in index_folders(root)}
    except LakesieveError as error:
        return TableInfo(name=name, format=kind, indexes=(), error=str(error))
    return TableInfo(name=name, format=kind, indexes=tuple(sorted(found)), error=None)
