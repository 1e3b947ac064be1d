"""Delete objects that no kept state of an index needs."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from lakesieve.defaults import RETAIN_COMMITS, SAFETY_AGE
from lakesieve.errors import (
    CommitConflictError,
    ErrorKind,
    InvalidInputError,
    NotFoundError,
    StorageError,
)
from lakesieve.store.index_references import references_to, remove_unused_references
from lakesieve.store.log import (
    CHECKPOINT_INTERVAL,
    FOLDERS,
    OBJECT_NAMES,
    commit_path,
    is_object,
)
from lakesieve.store.requirements import HeadIs
from lakesieve.store.snapshot import Changes, referenced_roots

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakesieve.format import Commit
    from lakesieve.storage import ObjectInfo
    from lakesieve.store.index_references import IndexReference
    from lakesieve.store.index_store import IndexStore
    from lakesieve.store.snapshot import Snapshot

_ATTEMPTS = 8
_CONTENT = ("_probe-", "segments/", "files/")
_FIRST_COMMIT = commit_path(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuumed:
    """The objects that a vacuum deleted, or would delete.

    Args:
        retained_from: The first commit whose state can still be read afterwards.
        borrowers: Roots of the clones for which objects were kept.
    """

    dry_run: bool
    paths: tuple[str, ...]
    bytes: int
    retained_from: int
    borrowers: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Retention:
    """The states to keep, and the objects that they need."""

    head: Snapshot
    retained_from: int
    needed: frozenset[tuple[int, str]]


def vacuum(
    store: IndexStore,
    *,
    retain_commits: int = RETAIN_COMMITS,
    older_than: timedelta = SAFETY_AGE,
    dry_run: bool = True,
) -> Vacuumed:
    """Delete objects that no kept state needs, leftovers of dead builds, and old log entries.

    A state is kept if it is one of the last ``retain_commits``, or if it was the current state at
    any time within ``older_than``. Nothing younger than ``older_than`` is deleted, so it must be
    longer than any build and any query. Objects that clones use are kept.

    A vacuum first commits which states it keeps. If the disk is too full for this commit, it first
    deletes objects that no state needs, or else some objects of the states that it gives up.
    """
    _check(store, retain_commits, older_than)
    before = datetime.now(UTC) - older_than
    retention = _retention(store, retain_commits, before)
    # check the roots whose references will change, before anything is committed or deleted
    referenced_roots(store.storage, retention.head.definition)
    freed: list[ObjectInfo] = []
    if not dry_run:
        retention, freed = _announced_in_room(store, retention, retain_commits, before)
    # look up references after that commit, because a later clone finds the old states refused
    using = references_to(store.storage)
    doomed = _doomed(store, retention, _shared(using), before)
    if not dry_run:
        _delete(store, doomed, before)
        # last, because on a full disk there may be no room for it earlier
        remove_unused_references(store.storage, retention.head, retention.needed)
    doomed = [*freed, *doomed]
    return Vacuumed(
        dry_run=dry_run,
        paths=tuple(info.path for info in doomed),
        bytes=sum(info.size for info in doomed),
        retained_from=retention.retained_from,
        borrowers=tuple(reference.location for reference in using),
    )


def _check(store: IndexStore, retain_commits: int, older_than: timedelta) -> None:
    """Refuse limits that keep nothing, and an index whose folders are links."""
    if retain_commits < 1 or older_than < timedelta(0):
        raise InvalidInputError(
            f"A vacuum cannot keep {retain_commits} commits and the states of {older_than}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Set retain_commits to at least 1, and older_than to some hours.",
        )
    for folder in FOLDERS:
        store.storage.check_unlinked(folder)


def _retention(store: IndexStore, retain_commits: int, before: datetime) -> _Retention:
    head = store.snapshot()
    first = head.number
    commits = list(store.log.commits(head.retained_from, head.number))
    for commit, following in zip(commits[-2::-1], commits[:0:-1], strict=True):
        recent = head.number - commit.number < retain_commits
        if not recent and _made_at(following) <= before:
            break
        first = commit.number
    retired = [c for c in commits if head.retained_from < c.number <= first]
    frees = any(c.remove_segments or c.remove_catalogues for c in retired)
    if not frees and len(retired) < CHECKPOINT_INTERVAL:
        # so few states are not worth a commit
        first = head.retained_from
    return _kept_from(store, head, commits, first)


def _kept_from(store: IndexStore, head: Snapshot, commits: list[Commit], first: int) -> _Retention:
    """Return which objects the states from commit ``first`` on need."""
    needed = head.objects() | store.snapshot(first).objects()
    for commit in commits:
        if commit.number > first:
            needed |= {(entry.root, entry.path) for entry in commit.added}
    return _Retention(head=head, retained_from=first, needed=frozenset(needed))


def _made_at(commit: Commit) -> datetime:
    try:
        created = datetime.fromisoformat(commit.created_at)
    except ValueError:
        return datetime.now(UTC)
    return created if created.tzinfo is not None else created.replace(tzinfo=UTC)


def _announced(
    store: IndexStore, retention: _Retention, retain_commits: int, before: datetime
) -> _Retention:
    """Commit which states are kept, before objects of other states are deleted."""
    for attempts_left in reversed(range(_ATTEMPTS)):
        if retention.retained_from == retention.head.retained_from:
            break
        try:
            # the log cannot begin at this commit until the checkpoint exists
            if not store.log.write_checkpoint(store.snapshot(retention.retained_from), hint=False):
                raise StorageError(
                    f"Commit {retention.retained_from} is too large for a checkpoint: it has too "
                    "many segments.",
                    kind=ErrorKind.STORAGE_FAILED,
                    hint="Compact the index first.",
                )
            head = store.commit(
                retention.head,
                Changes(operation="vacuum", retained_from=retention.retained_from),
                (HeadIs(number=retention.head.number),),
            )
        except CommitConflictError:
            if not attempts_left:
                raise
            retention = _retention(store, retain_commits, before)
        else:
            return _Retention(
                head=head, retained_from=retention.retained_from, needed=retention.needed
            )
    return retention


def _announced_in_room(
    store: IndexStore, retention: _Retention, retain_commits: int, before: datetime
) -> tuple[_Retention, list[ObjectInfo]]:
    """Commit which states are kept.

    On a full disk, first delete some objects, and return them, too.
    """
    try:
        return _announced(store, retention, retain_commits, before), []
    except StorageError as error:
        if error.kind is not ErrorKind.STORAGE_FULL:
            raise
        full = error
    shared = _shared(references_to(store.storage))
    head = retention.head
    commits = list(store.log.commits(head.retained_from, head.number))
    kept_now = _kept_from(store, head, commits, head.retained_from)
    freed = _doomed(store, kept_now, shared, before)
    _delete(store, freed, before)
    retired = [i for i in _doomed(store, retention, shared, before) if i.path.startswith(_CONTENT)]
    # The largest object first, because one is nearly always enough. If someone rolls back to a
    # given-up state before the commit is made, the index needs a repair, but no answer is wrong.
    for info in [None, *sorted(retired, key=lambda info: info.size, reverse=True)]:
        if info is not None:
            freed.append(info)
            _delete(store, [info], before)
        try:
            return _announced(store, retention, retain_commits, before), freed
        except StorageError as error:
            if error.kind is not ErrorKind.STORAGE_FULL:
                raise
    raise full


def _shared(references: Iterable[IndexReference]) -> set[str]:
    return {path for reference in references for path in reference.objects}


def _doomed(
    store: IndexStore, retention: _Retention, shared: set[str], before: datetime
) -> list[ObjectInfo]:
    storage = store.storage
    # the first commit stays: it contains the definition of the index, even if all else is lost
    kept_paths = shared | {path for root, path in retention.needed if root == 0} | {_FIRST_COMMIT}
    start = f"log/{retention.retained_from:020d}"
    # delete the log in ascending order, so that a hole in it is never mistaken for its end
    return [
        info
        for info in storage.objects("")
        if info.modified <= before
        and info.path not in kept_paths
        and is_object(info.path)
        and (info.path.startswith(_CONTENT) or "log/" <= info.path < start)
    ]


def _delete(store: IndexStore, doomed: list[ObjectInfo], before: datetime) -> None:
    storage = store.storage
    storage.sweep(before, OBJECT_NAMES)

    def delete(info: ObjectInfo) -> None:
        # a build that needs the object again has just written it again
        with contextlib.suppress(NotFoundError):
            if storage.head(info.path).modified <= before:
                storage.delete(info.path)

    for info in doomed:
        if info.path.startswith("log/"):
            delete(info)
    storage.at_once(delete, [info for info in doomed if not info.path.startswith("log/")])
