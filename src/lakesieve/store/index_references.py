"""Objects shared between indexes: which index uses which.

A clone uses objects of the index that it was made of. Below the root of that index it keeps a
reference, ``borrowers/<uuid>.json``, with the objects that it needs. The reference is there before
the clone's first commit; while it is, vacuum leaves those objects alone.
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
    """An index that uses objects of another one.

    Args:
        objects: Paths, below the root of the index that is used, of what it may still need.
    """

    index_uuid: str
    location: str
    objects: tuple[str, ...]

    @classmethod
    def read(cls, data: bytes, path: str) -> Self:
        """Read a reference; ``path`` is for the error."""
        document = unpack(data, path)
        objects = document.get("objects")
        texts = isinstance(objects, list) and all(isinstance(item, str) for item in objects)
        names = all(isinstance(document.get(name), str) for name in ("index_uuid", "location"))
        if set(document) != {field.name for field in fields(cls)} or not texts or not names:
            raise corrupt(path, "it is not a reference of an index")
        return cls(**{**document, "objects": tuple(document["objects"])})

    def pack(self) -> bytes:
        """Write a reference."""
        return pack({field.name: getattr(self, field.name) for field in fields(self)})


def reference_path(index_uuid: str) -> str:
    """Return where the reference of an index lies."""
    return f"borrowers/{index_uuid}.json"


def references_to(storage: Storage) -> list[IndexReference]:
    """Return the references that other indexes keep below the root of one."""
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
    """Shrink the references of an index to what it still needs."""
    definition = snapshot.definition
    still = _by_root(needed)
    for root, target in enumerate(referenced_roots(storage, definition), 1):
        path = reference_path(definition.index_uuid)
        reference = IndexReference(
            index_uuid=definition.index_uuid,
            location=storage.location,
            objects=still.get(root, ()),
        )
        known = _own_reference(target, storage, definition)
        if known is None or known == reference:
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
    """Read the reference that an index keeps below a root; ``None`` if it is not known to be its.

    An index can claim the identity of another one, in a copy of its folder or on purpose. Then the
    reference is the other's, and must protect what the other needs.
    """
    path = reference_path(definition.index_uuid)
    try:
        known = IndexReference.read(target.get(path, most=MAX_DOCUMENT_BYTES), path)
    except NotFoundError:
        index_uuid, location = definition.index_uuid, storage.location
        return IndexReference(index_uuid=index_uuid, location=location, objects=())
    except (CorruptIndexError, IndexFormatError):
        return None
    return known if is_same_place(known.location, storage.location) else None


def _by_root(objects: Iterable[tuple[int, str]]) -> dict[int, tuple[str, ...]]:
    """Return paths by the root that they are below."""
    found: dict[int, list[str]] = {}
    for root, path in sorted(objects):
        if root:
            found.setdefault(root, []).append(path)
    return {root: tuple(paths) for root, paths in found.items()}
