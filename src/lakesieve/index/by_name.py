"""Indexes by the names of their tables, however these are reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.index.access import no_index
from lakesieve.index.find import find
from lakesieve.index.index import describe
from lakesieve.index.registry import IndexRegistry, index_storage
from lakesieve.index.shown import ShownList
from lakesieve.store import IndexStore, Repaired, repair

if TYPE_CHECKING:
    from lakesieve.index.access import TableAccess
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.index.reasons import Reason
    from lakesieve.index.result import Found, IndexInfo
    from lakesieve.tables import TableReader


def list_indexes(access: TableAccess, table: str, location: str | None) -> list[IndexInfo]:
    """List the indexes of a table that can be read."""
    opened = access.open_table(table)
    infos = []
    for root in access.roots(opened, location):
        for name in sorted(root.folders("")):
            store = IndexStore(root.child(name))
            if store.exists():
                infos.append(describe(store.snapshot(), opened.name, store.storage.location))
    return ShownList(infos)


def opened_indexes(
    access: TableAccess, table: TableReader, location: str | None
) -> tuple[list[OpenedIndex], list[Reason]]:
    """The indexes of a table that can be read, and why others cannot."""
    locations = () if location is None else (location,)
    registry = IndexRegistry(locations, access.options(None))
    return registry.indexes(table.location, table.uuid, file_io=table.file_io)


def find_files(
    access: TableAccess,
    table: str,
    predicate: str | Any,
    version: str | int | None,
    location: str | None,
) -> Found:
    """Data files that can hold a match, by all indexes of a table together.

    Args:
        access: How tables are reached.
        table: Name of the table.
        predicate: SQL text, or an expression of PyIceberg, Polars or Arrow.
        version: The version; ``None`` is the current one.
        location: A further root to search for indexes.
    """
    opened = access.open_table(table)
    indexes, reasons = opened_indexes(access, opened, location)
    return find(opened, indexes, reasons, predicate, version, timezone=access.timezone())


def repair_index(
    access: TableAccess,
    table: str,
    name: str,
    location: str | None,
    *,
    dry_run: bool,
) -> Repaired:
    """Make a damaged index usable again from what is left of it."""
    opened = access.open_table(table)
    for root in access.roots(opened, location):
        storage = index_storage(root, name)
        if storage.objects("log/") or storage.objects("files/"):
            return repair(IndexStore(storage), dry_run=dry_run)
    raise no_index(opened.name, name)
