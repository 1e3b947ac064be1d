"""A table of a catalog, and the names of its indexes."""

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
        format: ``iceberg``, ``delta``, ``hudi`` or ``parquet``; ``None`` where it cannot be opened.
        indexes: Names of the indexes, as far as the folders of the table show them.
        error: Why the table or its folder cannot be read; ``None`` where it can.

    Examples:
        >>> lake.tables()[0].indexes
        ('customer', 'id')
    """

    name: str
    format: str | None
    indexes: tuple[str, ...]
    error: str | None


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
