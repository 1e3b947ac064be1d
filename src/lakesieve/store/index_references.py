"""Objects shared between indexes: who borrows from whom.

An index that lends keeps a note for each borrower, ``borrowers/<uuid>.json``, with the objects that
the borrower needs. The note is there before the borrower's first commit; while it is, the lender's
vacuum leaves those objects alone.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

from lakesieve.errors import UnsupportedError, corrupt
from lakesieve.format import MAX_DOCUMENT_BYTES, pack, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakesieve.format import IndexDefinition
    from lakesieve.storage import Storage
    from lakesieve.store.snapshot import Snapshot

__all__ = [
    "IndexReference",
    "add_references",
    "reference_path",
    "referenced_roots",
    "references_to",
    "remove_references",
    "remove_unused_references",
    "root_storage",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReference:
    """An index that uses objects of another one.

    Args:
        index_uuid: Its identity.
        location: Its root.
        objects: Paths, below the lender's root, of what it may still need.
    """

    index_uuid: str
    location: str
    objects: tuple[str, ...]

    @classmethod
    def read(cls, data: bytes, path: str) -> Self:
        """Read a note.

        Raises:
            CorruptIndexError: It is not what was written.
            IndexFormatError: It is too new.
        """
        document = unpack(data, path)
        objects = document.get("objects")
        texts = isinstance(objects, list) and all(isinstance(item, str) for item in objects)
        names = all(isinstance(document.get(name), str) for name in ("index_uuid", "location"))
        if set(document) != {field.name for field in fields(cls)} or not texts or not names:
            raise corrupt(path, "it is no note of a borrower")
        return cls(**{**document, "objects": tuple(document["objects"])})

    def pack(self) -> bytes:
        """Write a note."""
        return pack({field.name: getattr(self, field.name) for field in fields(self)})


def root_storage(storage: Storage, definition: IndexDefinition, root: int) -> Storage:
    """Where the objects of one of an index's roots lie.

    Args:
        storage: The index's own root.
        definition: The index.
        root: 0 for its own, ``n`` for the ``n``-th borrowed one.

    Raises:
        UnsupportedError: The borrowed root is in another kind of store, or not trusted.
    """
    return storage.at(definition.borrowed_roots[root - 1]) if root else storage


def referenced_roots(storage: Storage, definition: IndexDefinition) -> list[Storage]:
    """All roots that an index borrows from.

    Raises:
        UnsupportedError: One is in another kind of store, or not trusted.
    """
    roots = range(1, len(definition.borrowed_roots) + 1)
    return [root_storage(storage, definition, root) for root in roots]


def reference_path(index_uuid: str) -> str:
    """Where a borrower's note lies."""
    return f"borrowers/{index_uuid}.json"


def references_to(storage: Storage) -> list[IndexReference]:
    """Who borrows from an index.

    Raises:
        CorruptIndexError: A note is damaged, so that nobody knows what may be deleted.
        IndexFormatError: A note is too new.
    """
    paths = [info.path for info in storage.objects("borrowers/")]
    notes = storage.get_all(paths, most=MAX_DOCUMENT_BYTES)
    return [IndexReference.read(data, path) for path, data in zip(paths, notes, strict=True)]


def add_references(
    storage: Storage, definition: IndexDefinition, needed: Iterable[tuple[int, str]]
) -> None:
    """Leave notes with all lenders, before the first commit of the borrower.

    Args:
        storage: The borrower's root.
        definition: The borrower.
        needed: Root and path of what it needs.

    Raises:
        StorageError: A lender's place cannot be written to.
        UnsupportedError: One is not trusted; then no note is left anywhere.
    """
    lenders = referenced_roots(storage, definition)
    for root, objects in _by_root(needed).items():
        lender = lenders[root - 1]
        note = IndexReference(
            index_uuid=definition.index_uuid, location=storage.location, objects=objects
        )
        lender.create(reference_path(definition.index_uuid), note.pack())


def remove_unused_references(
    storage: Storage, snapshot: Snapshot, needed: Iterable[tuple[int, str]]
) -> None:
    """Shrink the notes left with lenders to what is still needed.

    Args:
        storage: The borrower's root.
        snapshot: A state of the borrower.
        needed: Root and path of all that its kept states need.

    Raises:
        StorageError: A lender's place cannot be written to.
        UnsupportedError: One is not trusted; then no note is changed.
    """
    definition = snapshot.definition
    still = _by_root(needed)
    for root, lender in enumerate(referenced_roots(storage, definition), 1):
        path = reference_path(definition.index_uuid)
        if root not in still:
            lender.delete(path)
            continue
        note = IndexReference(
            index_uuid=definition.index_uuid, location=storage.location, objects=still[root]
        )
        lender.replace(path, note.pack())


def remove_references(storage: Storage, definition: IndexDefinition) -> None:
    """Take back all notes left with lenders, but for places that are not trusted."""
    for root in range(1, len(definition.borrowed_roots) + 1):
        try:
            lender = root_storage(storage, definition, root)
        except UnsupportedError:
            continue
        lender.delete(reference_path(definition.index_uuid))


def _by_root(objects: Iterable[tuple[int, str]]) -> dict[int, tuple[str, ...]]:
    """Paths by borrowed root."""
    found: dict[int, list[str]] = {}
    for root, path in sorted(objects):
        if root:
            found.setdefault(root, []).append(path)
    return {root: tuple(paths) for root, paths in found.items()}
