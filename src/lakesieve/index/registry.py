"""Finding the indexes of a table: beside it, or under further locations given by the user."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError, NotFoundError
from lakesieve.index.opened import OpenedIndex
from lakesieve.index.planner import READ_FAILURES, broken_index
from lakesieve.storage import Storage, open_storage
from lakesieve.store import BlockCache, IndexReader, IndexStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    StorageOptions = Callable[[str], dict[str, str]]

    from lakesieve.index.reasons import Reason

__all__ = ["FOLDER", "IndexRegistry", "index_storage", "roots_of"]

FOLDER = "_lakesieve"
"""Folder of a table's indexes; the underscore hides it from the formats' own clean-up."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}")
_REMOTE_SECONDS = 10.0


def roots_of(
    table_location: str,
    table_uuid: str,
    locations: Iterable[str] = (),
    options: StorageOptions | None = None,
) -> list[Storage]:
    """Folders in which indexes of a table may stand, the table's own first.

    Args:
        table_location: Root of the table.
        table_uuid: Its identity; names the table's folder under further locations.
        locations: Further roots, such as a bucket for indexes of read-only tables.
        options: Tells the settings with which a location is reached.
    """
    places = [(table_location, FOLDER), *((location, table_uuid) for location in locations)]
    return [
        open_storage(place, options(place) if options else None).child(folder)
        for place, folder in places
    ]


def index_storage(root: Storage, name: str) -> Storage:
    """Storage of one index.

    Raises:
        InvalidInputError: The name would not do as a folder's name.
    """
    if not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} cannot be an index's name.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Use up to 128 letters, digits, '_', '-' and '.', not starting with '.'.",
        )
    return root.child(name)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Entry:
    """An opened index, and what changes when its log does."""

    mark: tuple[object, object]
    index: OpenedIndex


class IndexRegistry:
    """Opens the indexes of tables and keeps them open while their logs do not grow.

    On local storage the logs are looked at in every call; on object stores at most every ten
    seconds, which can only cost speed: an older index state is a smaller one, never a wrong one.

    Args:
        locations: Further roots to search.
        options: Tells the settings with which a location is reached.
    """

    def __init__(
        self, locations: Iterable[str] = (), options: StorageOptions | None = None
    ) -> None:
        self._locations = tuple(locations)
        self._options = options
        self._cache = BlockCache()
        self._entries: dict[str, _Entry] = {}
        self._answers: dict[tuple[str, str], tuple[float, list[OpenedIndex], list[Reason]]] = {}
        self._lock = threading.Lock()

    @property
    def locations(self) -> tuple[str, ...]:
        """Further roots to search."""
        return self._locations

    def indexes(
        self, table_location: str, table_uuid: str
    ) -> tuple[list[OpenedIndex], list[Reason]]:
        """All indexes of a table, and coded reasons for those that cannot be opened."""
        key = (table_location, table_uuid)
        with self._lock:
            told = self._answers.get(key)
            if told is not None and time.monotonic() < told[0]:
                return told[1], told[2]
            found: list[OpenedIndex] = []
            reasons: list[Reason] = []
            remote = False
            for root in roots_of(table_location, table_uuid, self._locations, self._options):
                remote = remote or not root.is_local
                self._open_all(root, found, reasons)
            if remote:
                self._answers[key] = (time.monotonic() + _REMOTE_SECONDS, found, reasons)
            return found, reasons

    def _open_all(self, root: Storage, found: list[OpenedIndex], reasons: list[Reason]) -> None:
        try:
            names = sorted(n for n in root.folders("") if _NAME.fullmatch(n))
        except LakesieveError as error:
            reasons.append(broken_index(root.location, error))
            return
        for name in names:
            try:
                index = self._open(root.child(name))
            except READ_FAILURES as error:
                reasons.append(broken_index(name, error))
            else:
                if index is not None:
                    found.append(index)

    def _open(self, storage: Storage) -> OpenedIndex | None:
        store = IndexStore(storage)
        entry = self._entries.get(storage.location)
        if entry is not None and entry.mark == store.mark(entry.index.snapshot.number):
            return entry.index
        try:
            snapshot = store.snapshot()
        except NotFoundError as error:
            if error.kind is not ErrorKind.INDEX_NOT_FOUND:
                raise
            if storage.objects("segments/") or storage.objects("files/"):
                raise NotFoundError(
                    "its log/ holds no commit: a build that is under way or was ended, "
                    "or a log that was deleted.",
                    kind=ErrorKind.OBJECT_NOT_FOUND,
                    hint="Create the index again, or repair it.",
                ) from None
            return None
        index = OpenedIndex(snapshot, IndexReader(store, snapshot, self._cache))
        mark = (store.mark(snapshot.number)[0], "")
        self._entries[storage.location] = _Entry(mark=mark, index=index)
        return index
