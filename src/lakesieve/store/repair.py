"""Repair a damaged index from its undamaged objects."""

from __future__ import annotations

import uuid
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lakesieve.errors import (
    CommitConflictError,
    CorruptIndexError,
    ErrorKind,
    NotFoundError,
)
from lakesieve.format import Commit, SegmentEntry, read_origin
from lakesieve.store.cache import BlockCache
from lakesieve.store.index_store import WRITER
from lakesieve.store.segment_loader import SegmentLoader
from lakesieve.store.snapshot import Replay, Snapshot
from lakesieve.store.verify import Damage, damages, log_damages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakesieve.format import CatalogueEntry, Origin
    from lakesieve.store.index_store import IndexStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Repaired:
    """The result of a repair, or of its dry run.

    Args:
        commit: The commit with the saved objects, or -1 if there was none to make.
        lost: What could not be saved. Every query reads the data files that only these objects
            covered, until the next refresh.
    """

    dry_run: bool
    commit: int
    files: int
    lost: tuple[Damage, ...]


def repair(store: IndexStore, *, dry_run: bool = True) -> Repaired:
    """Write a commit with all undamaged objects of an index, independent of the log before it.

    A catalogue is saved with all of its segments or not at all. With a segment missing, files that
    hold a key would be skipped. If commits are lost, the catalogue files themselves list their
    segments. Nothing is deleted or overwritten. The new commit is a root, at which readers begin.
    """
    listing = store.log.listing()
    state, lost = _known(store)
    whole, broken = _whole(store, state)
    lost += broken
    if lost:
        whole = _with_files(store, whole)
    files = sum(entry.files for entry in whole.catalogues)
    if not lost:
        return Repaired(dry_run=dry_run, commit=-1, files=files, lost=())
    commit = _root(max(*listing.commits, *listing.checkpoints, -1, -1) + 1, whole)
    if not dry_run:
        if not store.log.land(commit):
            raise CommitConflictError(
                f"Another writer made commit {commit.number} meanwhile.",
                kind=ErrorKind.CONFLICT,
                hint="Run the repair again.",
            )
        store.log.write_checkpoint(Replay(commit).snapshot())
    return Repaired(dry_run=dry_run, commit=commit.number, files=files, lost=tuple(lost))


def _root(number: int, state: Snapshot) -> Commit:
    return Commit(
        number=number,
        operation="repair",
        created_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
        writer=WRITER,
        write_id=uuid.uuid4().hex,
        parent_id="",
        definition=state.definition,
        table_version=state.table_version,
        add_catalogues=state.catalogues,
        add_segments=state.segments,
        metrics=state.totals(),
    )


def _known(store: IndexStore) -> tuple[Snapshot, list[Damage]]:
    """Return the best state in the log, or else in the files, and a list of what is damaged."""
    try:
        head = store.snapshot()
        return head, log_damages(store, head)
    except CorruptIndexError as error:
        lost = [Damage(path="log/", problem=error.message)]
    except NotFoundError:
        if not store.storage.objects("files/"):
            raise
        lost = [Damage(path="log/", problem="There is no log.")]
    state = _from_log(store)
    if state is not None:
        return state, lost
    definitions = [origin.definition for _, origin in _origins(store)]
    if not definitions:
        raise CorruptIndexError(
            f"No remaining object at {store.storage.location} contains the definition of the "
            "index.",
            kind=ErrorKind.CORRUPT,
            hint="Drop the index and create it again.",
        )
    nothing = Snapshot(
        number=-1,
        # if several indexes were here, the last one is repaired
        definition=max(definitions, key=lambda definition: definition.created_at),
        table_version={},
        catalogues=(),
        segments=(),
        write_id="",
    )
    return nothing, lost


def _from_log(store: IndexStore) -> Snapshot | None:
    """Return the last state that can be replayed, with the changes of readable commits after it."""
    listing = store.log.listing()
    start: Snapshot | None = None
    for number in sorted({*listing.commits, *listing.checkpoints}, reverse=True):
        try:
            start = store.log.at(number, 0)
            break
        except (CorruptIndexError, NotFoundError):
            continue
    if start is None:
        return None
    catalogues = {entry.id: entry for entry in start.catalogues}
    segments = {entry.path: entry for entry in start.segments}
    version = start.table_version
    for number in (n for n in listing.commits if n > start.number):
        try:
            commit = store.log.read(number)
        except (CorruptIndexError, NotFoundError):
            continue
        for path in commit.remove_segments:
            segments.pop(path, None)
        for name in commit.remove_catalogues:
            catalogues.pop(name, None)
        catalogues.update((entry.id, entry) for entry in commit.add_catalogues)
        segments.update((entry.path, entry) for entry in commit.add_segments)
        version = commit.table_version or version
    return replace(
        start,
        table_version=version,
        catalogues=tuple(catalogues.values()),
        # a segment's catalogue may come from a lost commit, and the reverse
        segments=tuple(entry for entry in segments.values() if entry.catalogue in catalogues),
    )


def _whole(store: IndexStore, known: Snapshot) -> tuple[Snapshot, list[Damage]]:
    """Return the catalogues whose segments are all undamaged, and the damage of the others."""
    lost: list[Damage] = []
    bad: set[str] = set()
    loader = SegmentLoader(store.storage, known, BlockCache(0))
    for entry in known.entries:
        damage = damages(loader, entry)
        lost += damage
        if damage:
            bad.add(entry.catalogue if isinstance(entry, SegmentEntry) else entry.id)
    whole = replace(
        known,
        catalogues=tuple(entry for entry in known.catalogues if entry.id not in bad),
        segments=tuple(entry for entry in known.segments if entry.catalogue not in bad),
    )
    return whole, lost


def _with_files(store: IndexStore, state: Snapshot) -> Snapshot:
    """Add catalogues that only their own files describe, if they cover more data files."""
    read = store.covered_by(state)
    covered = {path for entry in state.catalogues for path in read(entry).to_pylist()}
    for entry, origin in _origins(store):
        if origin.definition.index_uuid != state.definition.index_uuid:
            continue
        paths = set(read(entry).to_pylist())
        if paths <= covered or entry.id in {known.id for known in state.catalogues}:
            continue
        own = replace(state, catalogues=(entry,), segments=origin.segments)
        loader = SegmentLoader(store.storage, own, BlockCache(0))
        if any(damages(loader, one) for one in own.entries):
            continue
        covered |= paths
        state = replace(
            state,
            catalogues=(*state.catalogues, *own.catalogues),
            segments=(*state.segments, *own.segments),
        )
    return state


def _origins(store: IndexStore) -> Iterator[tuple[CatalogueEntry, Origin]]:
    """Yield what catalogue files say about themselves, the latest first."""
    files = sorted(store.storage.objects("files/"), key=lambda info: info.modified, reverse=True)
    for info in files:
        try:
            entry, origin = read_origin(store.storage.get(info.path), info.path)
        except (CorruptIndexError, NotFoundError):
            continue
        if origin is not None:
            yield entry, origin
