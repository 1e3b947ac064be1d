"""Find the indexes of a table: next to the table, and at further locations that the user names."""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError, NotFoundError
from lakesieve.index.opened import OpenedIndex
from lakesieve.index.reasons import READ_FAILURES, Reason, ReasonCode, broken_index
from lakesieve.storage import INDEX_FOLDER, Background, Storage, all_at_once, open_storage
from lakesieve.store import IndexStore, changes_made

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lakesieve.storage import StorageOptions

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,127}")
_REMOTE_SECONDS = 10.0
_REST_SECONDS = 30.0
# for how many settings one index is kept open; every renewal of credentials adds settings
_MAX_SETTINGS = 8
# share of the planning time for look-ups, if a table's indexes may be at several locations
_LOOK_UP_SHARE = 0.25


def roots_of(
    table_location: str,
    table_uuid: str,
    locations: Iterable[str] = (),
    options: StorageOptions | None = None,
) -> list[Storage]:
    """Return the folders that may contain indexes of a table, the table's own folder first."""
    folders = [(table_location, INDEX_FOLDER), *((location, table_uuid) for location in locations)]
    return [
        open_storage(
            base,
            options(base) if options else None,
            renew=options.renewed if options else None,
        ).child(name)
        for base, name in folders
    ]


def index_storage(root: Storage, name: str) -> Storage:
    """Return the storage of one index."""
    if not _NAME.fullmatch(name):
        raise InvalidInputError(
            f"{name!r} is not a valid name of an index.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Choose a name (name=, --name) of up to 128 English letters, digits, '_', '-' and "
            "'.'. The name cannot start with '-' or '.'.",
        )
    return root.child(name)


def index_folders(root: Storage) -> dict[str, Storage]:
    """Return the folders below a root that may contain indexes of one table, by name."""
    return {name: root.child(name) for name in sorted(root.folders("")) if _NAME.fullmatch(name)}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _RootIndexes:
    """The indexes of one root, and the reasons why others cannot be opened."""

    indexes: tuple[OpenedIndex, ...] = ()
    reasons: tuple[Reason, ...] = ()


def _parent(location: str) -> str:
    return location.rpartition("/")[0]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Entry:
    """An opened index, and a value that changes when its log changes."""

    mark: tuple[object, object]
    index: OpenedIndex


class IndexRegistry:
    """Opens the indexes of tables, and keeps them open until their logs grow.

    On local storage, every call checks the logs. On object stores, a log is checked at most every
    ten seconds. This can only cost speed: an older state covers fewer files, but is never wrong.
    Commits of this process are seen at once.

    No lock is held while storage is read. A root on an object store is opened once, for all callers
    that wait. Its thread continues even if nobody waits any more. If opening fails or takes too
    long, the root is not tried again for half a minute, or until the thread succeeds.

    Args:
        locations: Further roots to search.
        options: Returns the storage options of a location.
        most_opened: Number of indexes that are kept open, the latest ones. Queries that need others
            open them again.
    """

    def __init__(
        self,
        locations: Iterable[str] = (),
        options: StorageOptions | None = None,
        *,
        most_opened: int = 500,
    ) -> None:
        self._most_opened = most_opened
        self._locations = tuple(locations)
        self._options = options
        # by storage, because other settings may read another index, or none
        self._entries: dict[Storage, _Entry] = {}
        # results for roots on object stores
        self._answers: dict[Storage, tuple[float, _RootIndexes]] = {}
        self._changes = changes_made()
        self._running: dict[Storage, Background[_RootIndexes]] = {}
        self._resting: dict[Storage, tuple[float, Reason]] = {}
        self._lock = threading.Lock()

    @property
    def locations(self) -> tuple[str, ...]:
        """Further roots to search."""
        return self._locations

    def indexes(
        self,
        table_location: str,
        table_uuid: str,
        *,
        file_io: Mapping[str, str] | None = None,
        until: float | None = None,
    ) -> tuple[list[OpenedIndex], list[Reason]]:
        """Return the indexes of a table, and coded reasons for those that cannot be opened.

        The call waits for storage until ``time.monotonic()`` reaches ``until``. With ``None`` it
        waits without limit, and also tries roots that failed recently.
        """
        indexes: list[OpenedIndex] = []
        reasons: list[Reason] = []
        options = self._options.of_table(file_io or {}) if self._options else None
        roots = roots_of(table_location, table_uuid, self._locations, options)
        # all roots at once
        started = [self._start(root, patient=until is None) for root in roots]
        if until is not None and len(roots) > 1:
            # the remaining roots are useful only if time is left for look-ups
            until -= (until - time.monotonic()) * _LOOK_UP_SHARE
        for root, task in zip(roots, started, strict=True):
            if task is None:
                opened = self._known(root)
            elif task.wait(until):
                opened = task.result()
            else:
                opened = _RootIndexes(reasons=(self.rest(root),))
                if task.is_done:
                    self.wake(root)
            indexes.extend(opened.indexes)
            reasons.extend(opened.reasons)
        return indexes, reasons

    def rest(self, root: Storage) -> Reason:
        """Do not open a root for a while, after a query has waited for it in vain.

        Returns:
            The coded reason why the root's indexes are not used.
        """
        reason = Reason(
            code=ReasonCode.PLANNING_TIMEOUT,
            detail=f"{root.location} did not answer in time; lakesieve tries it again later",
        )
        if not root.is_local:
            with self._lock:
                self._resting[root] = (time.monotonic() + _REST_SECONDS, reason)
        return reason

    def wake(self, root: Storage) -> None:
        """Use a root again that has answered after all."""
        with self._lock:
            self._resting.pop(root, None)

    def _known(self, root: Storage) -> _RootIndexes:
        """Return the known indexes of a root, without waiting for an object store."""
        if root.is_local:
            return self._open_all(root)
        with self._lock:
            rest = self._resting.get(root)
            answer = self._answers.get(root)
        if rest is not None:
            return _RootIndexes(reasons=(rest[1],))
        return answer[1] if answer is not None else _RootIndexes()

    def _start(self, root: Storage, *, patient: bool) -> Background[_RootIndexes] | None:
        """Open a root on an object store in the background, unless its indexes are known."""
        if root.is_local:
            return None
        time_now = time.monotonic()
        with self._lock:
            self._forget(time_now)
            if root in self._answers:
                return None
            if root in self._resting and not patient:
                return None
            task = self._running.get(root)
            if task is None:
                task = Background(lambda: self._open_remote(root))
                self._running[root] = task
            return task

    def _forget(self, time_now: float) -> None:
        """Drop outdated results. The caller holds the lock."""
        if self._changes != changes_made():
            self._changes = changes_made()
            self._answers.clear()
        for cache in (self._answers, self._resting):
            for root, entry in list(cache.items()):
                if entry[0] <= time_now:
                    del cache[root]

    def _open_remote(self, root: Storage) -> _RootIndexes:
        changes = changes_made()
        try:
            opened = self._open_all(root)
        except BaseException:
            with self._lock:
                del self._running[root]
            raise
        failed = [r for r in opened.reasons if r.code == ReasonCode.INDEX_UNREADABLE]
        with self._lock:
            time_now = time.monotonic()
            del self._running[root]
            self._resting.pop(root, None)
            if failed and not opened.indexes:
                self._resting[root] = (time_now + _REST_SECONDS, failed[0])
            elif changes == changes_made():
                self._answers[root] = (time_now + _REMOTE_SECONDS, opened)
        return opened

    def _open_all(self, root: Storage) -> _RootIndexes:
        try:
            folders = index_folders(root)
        except LakesieveError as error:
            return _RootIndexes(reasons=(broken_index(root.location, error),))
        with self._lock:
            there = {storage.location for storage in folders.values()}
            for storage_known in [k for k in self._entries if _parent(k.location) == root.location]:
                if storage_known.options == root.options and storage_known.location not in there:
                    del self._entries[storage_known]
        opening = [partial(self._try_open, storage, name) for name, storage in folders.items()]
        opened = [one() for one in opening] if root.is_local else all_at_once(opening)
        return _RootIndexes(
            indexes=tuple(one for one in opened if isinstance(one, OpenedIndex)),
            reasons=tuple(one for one in opened if isinstance(one, Reason)),
        )

    def _try_open(self, storage: Storage, name: str) -> OpenedIndex | Reason | None:
        try:
            return self._open(storage)
        except READ_FAILURES as error:
            return broken_index(name, error)

    def _open(self, storage: Storage) -> OpenedIndex | None:
        store = IndexStore(storage)
        entry = self._entries.get(storage)
        if entry is not None and entry.mark == store.mark(entry.index.snapshot.number):
            return entry.index
        try:
            snapshot = store.snapshot()
        except NotFoundError as error:
            if error.kind is not ErrorKind.INDEX_NOT_FOUND:
                raise
            if storage.objects("segments/") or storage.objects("files/"):
                raise NotFoundError(
                    "its log/ has no commit: a build is running or was stopped, "
                    "or the log was deleted.",
                    kind=ErrorKind.OBJECT_NOT_FOUND,
                    hint="Create the index again, or repair it.",
                ) from None
            return None
        index = OpenedIndex(store, snapshot)
        mark = (store.mark(snapshot.number)[0], "")
        with self._lock:
            self._entries.pop(storage, None)
            self._entries[storage] = _Entry(mark=mark, index=index)
            same_place = [
                opened_storage
                for opened_storage in self._entries
                if opened_storage.location == storage.location
            ]
            for old in {*same_place[:-_MAX_SETTINGS], *list(self._entries)[: -self._most_opened]}:
                del self._entries[old]
        return index
