"""How fresh indexes are: which data files of the current version they cover, and since when."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lakesieve.errors import LakesieveError
from lakesieve.index.opened import OpenedIndex
from lakesieve.index.result import IndexInfo
from lakesieve.index.shown import ShownList
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    import pyarrow as pa

    from lakesieve.index.access import TableAccess


def index_states(
    access: TableAccess, table: str, location: str | None, *, name: str | None = None
) -> list[IndexInfo]:
    """Describe the indexes of a table, or one of them, with how fresh each is."""
    opened = access.open_table(table)
    if name is None:
        stores = list(access.stores(opened, location).values())
    else:
        stores = [IndexStore(access.index_storage(opened, name, location))]
    live = opened.live_files(opened.version()).column("path") if stores else None
    return ShownList(_state(store, opened.name, live) for store in stores)


def _state(store: IndexStore, table: str, live: pa.ChunkedArray) -> IndexInfo:
    snapshot = store.snapshot()
    info = IndexInfo.of(snapshot, table, store.storage.location)
    try:
        covered = int((OpenedIndex.at(store, snapshot).numbers(live) >= 0).sum())
        committed_at = store.log.read(snapshot.number).created_at
    except LakesieveError:
        # a damaged index is still listed
        return info
    return replace(info, live_files=len(live), covered_files=covered, committed_at=committed_at)
