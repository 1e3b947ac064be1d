"""Check every checksum of an index, without reading the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, IndexFormatError, LakesieveError, StorageError, corrupt
from lakesieve.format import CatalogueEntry
from lakesieve.store.cache import BlockCache
from lakesieve.store.log import checkpoint_path
from lakesieve.store.segment_loader import SegmentLoader, read_catalogue

if TYPE_CHECKING:
    from lakesieve.format import SegmentEntry
    from lakesieve.store.index_store import IndexStore
    from lakesieve.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A damaged object of an index."""

    path: str
    problem: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """The result of a check of an index.

    Args:
        commit: The last commit; -1 if the log cannot be read.
    """

    commit: int
    commits: int
    objects: int
    bytes: int
    damaged: tuple[Damage, ...]

    @property
    def is_sound(self) -> bool:
        """True if nothing is damaged or missing."""
        return not self.damaged


def verify(store: IndexStore) -> Verified:
    """Check the log, and every object that the last state of an index needs."""
    try:
        head = store.snapshot()
    except LakesieveError as error:
        if error.kind is not ErrorKind.CORRUPT:
            raise
        damage = Damage(path="log/", problem=error.message)
        return Verified(commit=-1, commits=0, objects=0, bytes=0, damaged=(damage,))
    damage_list = log_damages(store, head)
    loader = SegmentLoader(store.storage, head, BlockCache(0))
    for entry in head.entries:
        damage_list += damages(loader, entry)
    return Verified(
        commit=head.number,
        commits=head.number - head.retained_from + 1,
        objects=len(head.entries),
        bytes=sum(entry.size for entry in head.entries),
        damaged=tuple(damage_list),
    )


def damages(loader: SegmentLoader, entry: CatalogueEntry | SegmentEntry) -> list[Damage]:
    """Read one object of an index, and return its damage."""
    root = loader.root_of(entry)
    try:
        if root.head(entry.path).size != entry.size:
            raise corrupt(entry.path, "its size differs from the size in the commit")
        if isinstance(entry, CatalogueEntry):
            read_catalogue(root, entry)
        else:
            opened = loader.segment(entry)
            for _ in loader.row_groups(opened, range(len(opened.firsts))):
                pass
    except LakesieveError as error:
        return [_damage(entry.path, error)]
    return []


def log_damages(store: IndexStore, head: Snapshot) -> list[Damage]:
    """Return the damage of the log of an index whose last state can be read."""
    damage = []
    try:
        for _ in store.log.states(head.retained_from, head.number):
            pass
    except LakesieveError as error:
        damage.append(_damage("log/", error))
    for number in store.log.listing(head.retained_from).checkpoints:
        try:
            store.log.checkpoint(number)
        except LakesieveError as error:
            damage.append(_damage(checkpoint_path(number), error))
    return damage


def _damage(path: str, error: LakesieveError) -> Damage:
    # neither a temporary fault of the storage nor an unknown format is damage
    if isinstance(error, (StorageError, IndexFormatError)):
        raise error
    return Damage(path=path, problem=error.message)
