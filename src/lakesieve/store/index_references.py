"""References between indexes: which index uses objects of which other one.

A clone uses objects of the index that it was made from. Below the root of that index, the clone
stores a reference, ``borrowers/<uuid>.json``, which lists the objects that it needs. The clone
writes the reference before its first commit. While the reference exists, vacuum keeps the listed
objects.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Self

from lakesieve.errors import (
    CorruptIndexError,
    IndexFormatError,
    NotFoundError,
    UnsupportedError,
    corrupt,
)
from lakesieve.format import MAX_DOCUMENT_BYTES, pack, unpack
from lakesieve.storage import is_same_place
from lakesieve.store.snapshot import referenced_roots, root_storage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakesieve.format import IndexDefinition
    from lakesieve.storage import Storage
    from lakesieve.store.snapshot import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReference:
    """A reference of an index that uses objects of another index.

    Args:
        objects: Paths of the objects that it may still need, below the root of the used index.
    """

    index_uuid: str
    location: str
    objects: tuple[str, ...]

    @classmethod
    def read(cls, data: bytes, path: str) -> Self:
        """Parse a reference; ``path`` is used in error messages."""
        document = unpack(data, path)
        objects = document.get("objects")
        texts = isinstance(objects, list) and all(isinstance(item, str) for item in objects)
        names = all(isinstance(document.get(name), str) for name in ("index_uuid", "location"))
        if set(document) != {field.name for field in fields(cls)} or not texts or not names:
            raise corrupt(path, "it is not a valid reference of an index")
        return cls(**{**document, "objects": tuple(document["objects"])})

    def pack(self) -> bytes:
        """Serialize the reference."""
        return pack({field.name: getattr(self, field.name) for field in fields(self)})


def reference_path(index_uuid: str) -> str:
    """Return the path of an index's reference."""
    return f"borrowers/{index_uuid}.json"


def references_to(storage: Storage) -> list[IndexReference]:
    """Return the references that other indexes store below the root of an index."""
    paths = [info.path for info in storage.objects("borrowers/")]
    documents = storage.get_all(paths, most=MAX_DOCUMENT_BYTES)
    return [IndexReference.read(data, path) for path, data in zip(paths, documents, strict=True)]


def add_references(
    storage: Storage, definition: IndexDefinition, needed: Iterable[tuple[int, str]]
) -> None:
    """Write references below all roots that an index uses, before its first commit."""
    targets = referenced_roots(storage, definition)
    for root, objects in _by_root(needed).items():
        target = targets[root - 1]
        reference = IndexReference(
            index_uuid=definition.index_uuid, location=storage.location, objects=objects
        )
        target.create(reference_path(definition.index_uuid), reference.pack())


def remove_unused_references(
    storage: Storage, snapshot: Snapshot, needed: Iterable[tuple[int, str]]
) -> None:
    """Remove objects that an index no longer needs from its references."""
    definition = snapshot.definition
    still = _by_root(needed)
    for root, target in enumerate(referenced_roots(storage, definition), 1):
        path = reference_path(definition.index_uuid)
        reference = IndexReference(
            index_uuid=definition.index_uuid,
            location=storage.location,
            objects=still.get(root, ()),
        )
        current = _own_reference(target, storage, definition)
        if current is None or current == reference:
            continue
        if reference.objects:
            target.replace(path, reference.pack())
        else:
            target.delete(path)


def remove_references(storage: Storage, definition: IndexDefinition) -> None:
    """Remove all references of an index, except below roots that are not trusted."""
    for root in range(1, len(definition.borrowed_roots) + 1):
        try:
            target = root_storage(storage, definition, root)
        except UnsupportedError:
            continue
        if _own_reference(target, storage, definition) is not None:
            target.delete(reference_path(definition.index_uuid))


def _own_reference(
    target: Storage, storage: Storage, definition: IndexDefinition
) -> IndexReference | None:
    """Read an index's reference below a root, or return ``None`` if another index owns it.

    An index can have the identity of another one, because its folder was copied or on purpose. Then
    the reference belongs to the other index, and must protect what that index needs.
    """
    path = reference_path(definition.index_uuid)
    try:
        reference = IndexReference.read(target.get(path, most=MAX_DOCUMENT_BYTES), path)
    except NotFoundError:
        index_uuid, location = definition.index_uuid, storage.location
        return IndexReference(index_uuid=index_uuid, location=location, objects=())
    except (CorruptIndexError, IndexFormatError):
        return None
    return reference if is_same_place(reference.location, storage.location) else None


def _by_root(objects: Iterable[tuple[int, str]]) -> dict[int, tuple[str, ...]]:
    """Group paths by their root."""
    paths_by_root: dict[int, list[str]] = {}
    for root, path in sorted(objects):
        if root:
            paths_by_root.setdefault(root, []).append(path)
    return {root: tuple(paths) for root, paths in paths_by_root.items()}
