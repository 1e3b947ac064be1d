"""Requirements of a commit: what must still be true if others committed before it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lakesieve.format import CatalogueEntry, Commit
    from lakesieve.store.snapshot import Changes, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class SameIndex:
    """The log still belongs to the same index, not to one that replaced it."""

    index_uuid: str


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadIs:
    """No other commit was made in between."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Retained:
    """The state after a commit can still be read."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentsLive:
    """These segments, by path, are part of the index."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CataloguesLive:
    """These catalogues, by id, are part of the index."""

    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoOtherSegments:
    """The catalogues have no segments except these."""

    catalogues: tuple[str, ...]
    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FilesUncovered:
    """No commit in between has covered any of these data files."""

    paths: pa.Array | pa.ChunkedArray


Requirement = (
    SameIndex | HeadIs | Retained | SegmentsLive | CataloguesLive | NoOtherSegments | FilesUncovered
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """A requirement that no longer holds.

    Args:
        detail: The conflict, phrased as the end of a sentence.
        commit: The commit that caused it, if known.
    """

    requirement: Requirement
    detail: str
    commit: Commit | None = None


def implied(base: Snapshot, changes: Changes) -> tuple[Requirement, ...]:
    """Return the requirements that changes imply."""
    added = {entry.id for entry in changes.add_catalogues}
    needed = {entry.catalogue for entry in changes.add_segments} - added
    return (
        SameIndex(index_uuid=base.definition.index_uuid),
        SegmentsLive(paths=changes.remove_segments),
        CataloguesLive(ids=(*changes.remove_catalogues, *sorted(needed))),
        NoOtherSegments(catalogues=changes.remove_catalogues, paths=changes.remove_segments),
    )


def conflicts(
    requirements: Iterable[Requirement],
    *,
    base: Snapshot,
    head: Snapshot,
    between: Sequence[Commit],
    covered: Callable[[CatalogueEntry], pa.ChunkedArray],
) -> tuple[Conflict, ...]:
    """Return the requirements that no longer hold.

    ``covered`` returns the data files of a catalogue. It is called only for catalogues that were
    added since ``base``.
    """
    results = (_broken(one, base, head, between, covered) for one in requirements)
    return tuple(conflict for conflict in results if conflict is not None)


def _broken(
    requirement: Requirement,
    base: Snapshot,
    head: Snapshot,
    between: Sequence[Commit],
    covered: Callable[[CatalogueEntry], pa.ChunkedArray],
) -> Conflict | None:
    match requirement:
        case SameIndex():
            if head.definition.index_uuid != requirement.index_uuid:
                return Conflict(requirement=requirement, detail="another index has replaced it")
        case HeadIs():
            if head.number != requirement.number:
                return Conflict(
                    requirement=requirement,
                    detail=f"commit {requirement.number} is not the last one",
                    commit=between[0] if between else None,
                )
        case Retained():
            if not head.retained_from <= requirement.number <= head.number:
                return Conflict(
                    requirement=requirement,
                    detail=f"the state of commit {requirement.number} has been removed",
                )
        case SegmentsLive():
            missing = set(requirement.paths) - {entry.path for entry in head.segments}
            if missing:
                return _gone(requirement, sorted(missing), between)
        case CataloguesLive():
            missing = set(requirement.ids) - {entry.id for entry in head.catalogues}
            if missing:
                return _gone(requirement, sorted(missing), between)
        case NoOtherSegments():
            needed, allowed = set(requirement.catalogues), set(requirement.paths)
            for entry in head.segments:
                if entry.catalogue in needed and entry.path not in allowed:
                    return Conflict(
                        requirement=requirement, detail=f"{entry.path} would have no catalogue"
                    )
        case FilesUncovered():
            return _covered(requirement, base, head, between, covered)
    return None


def _gone(
    requirement: SegmentsLive | CataloguesLive, gone: Sequence[str], between: Sequence[Commit]
) -> Conflict:
    first = gone[0]
    by = [c for c in between if first in c.remove_segments or first in c.remove_catalogues]
    more = f" and {len(gone) - 1} more" if len(gone) > 1 else ""
    return Conflict(
        requirement=requirement,
        detail=f"{first}{more} is no longer part of the index",
        commit=by[0] if by else None,
    )


def _covered(
    requirement: FilesUncovered,
    base: Snapshot,
    head: Snapshot,
    between: Sequence[Commit],
    covered: Callable[[CatalogueEntry], pa.ChunkedArray],
) -> Conflict | None:
    base_ids = {entry.id for entry in base.catalogues}
    for entry in head.catalogues:
        if entry.id in base_ids:
            continue
        paths = covered(entry)
        both = paths.filter(pc.is_in(paths, value_set=requirement.paths))
        if len(both):
            by = [c for c in between if entry.id in {added.id for added in c.add_catalogues}]
            return Conflict(
                requirement=requirement,
                detail=f"{len(both)} data files are covered already, first {both[0].as_py()}",
                commit=by[0] if by else None,
            )
    return None
