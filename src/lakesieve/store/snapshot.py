"""States of an index, and the changes from one state to the next."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from lakesieve.errors import CorruptIndexError, ErrorKind
from lakesieve.format import Checkpoint

if TYPE_CHECKING:
    from lakesieve.format import CatalogueEntry, Commit, IndexDefinition, SegmentEntry
    from lakesieve.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """The state of an index after one of its commits.

    Args:
        table_version: The table version that was indexed last.
        write_id: The unique name of the commit.
        retained_from: The first state that can still be read.
        checkpoint: The latest checkpoint that was known at reading time; -1 for none.
    """

    number: int
    definition: IndexDefinition
    table_version: dict[str, Any]
    catalogues: tuple[CatalogueEntry, ...]
    segments: tuple[SegmentEntry, ...]
    write_id: str
    retained_from: int = 0
    checkpoint: int = field(default=-1, compare=False)

    @classmethod
    def from_checkpoint(cls, checkpoint: Checkpoint) -> Self:
        """Return the state that a checkpoint stores."""
        values = {field.name: getattr(checkpoint, field.name) for field in fields(checkpoint)}
        return cls(**values, checkpoint=checkpoint.number)

    def to_checkpoint(self) -> Checkpoint:
        """Return the checkpoint that stores this state."""
        return Checkpoint(**{field.name: getattr(self, field.name) for field in fields(Checkpoint)})

    @property
    def entries(self) -> tuple[CatalogueEntry | SegmentEntry, ...]:
        """All objects of the state."""
        return (*self.catalogues, *self.segments)

    def objects(self) -> set[tuple[int, str]]:
        """Return root and path of every object of the state."""
        return {(entry.root, entry.path) for entry in self.entries}

    @property
    def version_id(self) -> str:
        """The table version that was indexed last, or an empty text."""
        return str(self.table_version.get("id", ""))

    def totals(self) -> dict[str, int]:
        """Return the numbers of files, segments, blocks and bytes."""
        return {
            "files": sum(entry.files for entry in self.catalogues),
            "segments": len(self.segments),
            "blocks": sum(entry.blocks for entry in self.segments),
            "bytes": sum(entry.size for entry in self.entries),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes that a commit makes. The objects that it adds are staged already.

    Args:
        table_version: The table version that was indexed. Empty keeps the current one.
        remove_segments: Paths of the removed segments.
        remove_catalogues: Ids of the removed catalogues.
        retained_from: States before this commit may be deleted.
    """

    operation: str
    table_version: dict[str, Any] = field(default_factory=dict)
    add_catalogues: tuple[CatalogueEntry, ...] = ()
    add_segments: tuple[SegmentEntry, ...] = ()
    remove_segments: tuple[str, ...] = ()
    remove_catalogues: tuple[str, ...] = ()
    retained_from: int = 0


class Replay:
    """Applies commits one after the other to a state."""

    def __init__(self, start: Snapshot | Commit) -> None:
        if isinstance(start, Snapshot):
            self._at: Snapshot | Commit = start
            self._definition = start.definition
            self._table_version = start.table_version
            self._checkpoint = start.checkpoint
            self._retained_from = start.retained_from
            self._catalogues = {entry.id: entry for entry in start.catalogues}
            self._segments = {entry.path: entry for entry in start.segments}
        else:
            self._checkpoint = -1
            self._begin(start)

    def apply(self, commit: Commit) -> Self:
        """Apply the next commit."""
        if commit.number != self._at.number + 1:
            raise _broken(commit.number, f"it follows commit {self._at.number}")
        if commit.definition is not None:
            self._begin(commit)
            return self
        if commit.parent_id != self._at.write_id:
            raise _broken(commit.number, f"its parent is another commit {self._at.number}")
        for path in commit.remove_segments:
            self._segments.pop(path, None)
        for name in commit.remove_catalogues:
            self._catalogues.pop(name, None)
        self._add(commit)
        self._table_version = commit.table_version or self._table_version
        self._retained_from = max(self._retained_from, commit.retained_from)
        self._at = commit
        return self

    def snapshot(self) -> Snapshot:
        """Return the state after the applied commits."""
        if not all(entry.catalogue in self._catalogues for entry in self._segments.values()):
            raise _broken(self._at.number, "a segment belongs to a catalogue that does not exist")
        return Snapshot(
            number=self._at.number,
            definition=self._definition,
            table_version=self._table_version,
            catalogues=tuple(self._catalogues.values()),
            segments=tuple(self._segments.values()),
            write_id=self._at.write_id,
            retained_from=self._retained_from,
            checkpoint=self._checkpoint,
        )

    def _begin(self, root: Commit) -> None:
        if root.definition is None:
            raise _broken(root.number, "it is not a root")
        self._definition = root.definition
        self._table_version = root.table_version
        # a root after the first commit was written by a repair, and nothing before it is used
        self._retained_from = root.number
        self._catalogues = {}
        self._segments = {}
        self._add(root)
        self._at = root

    def _add(self, commit: Commit) -> None:
        roots = len(self._definition.borrowed_roots)
        for entry in commit.added:
            if entry.root > roots:
                raise _broken(commit.number, f"{entry.path} is below an unknown root")
        for catalogue in commit.add_catalogues:
            if catalogue.unit != self._definition.unit:
                raise _broken(commit.number, f"{catalogue.path} has the unit {catalogue.unit}")
        self._catalogues.update((entry.id, entry) for entry in commit.add_catalogues)
        for segment in commit.add_segments:
            earlier = self._segments.get(segment.path)
            # otherwise the files of the other catalogue would lose their keys
            if earlier is not None and earlier.catalogue != segment.catalogue:
                raise _broken(commit.number, f"{segment.path} belongs to two catalogues")
            self._segments[segment.path] = segment


def root_storage(storage: Storage, definition: IndexDefinition, root: int) -> Storage:
    """Return the storage of one of an index's roots, by its number.

    0 is the index's own root, ``storage``; ``n`` is the ``n``-th root that it refers to.

    Raises:
        UnsupportedError: The root is in another kind of store, or is not trusted.
    """
    return storage.at(definition.borrowed_roots[root - 1]) if root else storage


def referenced_roots(storage: Storage, definition: IndexDefinition) -> list[Storage]:
    """Return all roots that an index refers to."""
    roots = range(1, len(definition.borrowed_roots) + 1)
    return [root_storage(storage, definition, root) for root in roots]


def _broken(number: int, what: str) -> CorruptIndexError:
    return CorruptIndexError(
        f"The log is damaged at commit {number}: {what}.",
        kind=ErrorKind.CORRUPT,
        hint="Repair the index, or drop it and create it again. Until then, queries read every "
        "file.",
    )
