"""The decoded parts of a stored index: catalogues, footers of segments, row groups."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.errors import corrupt
from lakesieve.format import decode_catalogue, decode_footer, decode_row_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from lakesieve.format import CatalogueEntry, SegmentEntry, SegmentFooter
    from lakesieve.sieve import Blocks
    from lakesieve.storage import Storage
    from lakesieve.store.cache import BlockCache

DIGEST_BYTES = 16
"""Of a data file's path."""

# paths of which digests are made at once
_DIGESTED = 65_536
# row groups that are fetched at once
_AHEAD = 64


def read_catalogue(
    storage: Storage, entry: CatalogueEntry, columns: Sequence[str] | None = None
) -> pa.Table:
    """The data files of a catalogue, row ``i`` that of ordinal ``i``; it is not cached."""
    return decode_catalogue(storage.get(entry.path, most=entry.size), entry, columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenedSegment:
    """A segment with its footer at hand.

    Args:
        entry: What the commit says of it.
        version: Which object it was read from.
        footer: Its footer.
        firsts: First codes of its row groups.
        physical: ``int64`` or ``bytes``: what its keys are.
    """

    entry: SegmentEntry
    version: tuple[int, ...]
    footer: SegmentFooter
    firsts: Sequence[int | bytes]
    physical: str


class SegmentLoader:
    """Fetches, checks, decodes and keeps them.

    Args:
        roots: Where the index lies, and the others whose objects it has.
        cache: Where decoded parts are kept.
        files: How many data files each catalogue has, by its id.

    The cache is shared by all sessions of a process. A key names the root with its endpoint and
    credentials, and the SHA-256 of the commit's entry, which what is read must match.
    """

    def __init__(
        self, roots: Sequence[Storage], cache: BlockCache, files: Mapping[str, int]
    ) -> None:
        self._roots = roots
        self._identities = [root.identity for root in roots]
        self._cache = cache
        self._files = files

    def catalogue(self, entry: CatalogueEntry) -> pa.Table:
        """The data files of a catalogue, row ``i`` that of ordinal ``i``."""

        def make() -> tuple[pa.Table, int]:
            table = read_catalogue(self._roots[entry.root], entry)
            return table, table.nbytes

        table: pa.Table = self._cache.get(self._key(entry, "catalogue"), make)
        return table

    def flags(self, entry: CatalogueEntry) -> pa.Table:
        """Which data files of a catalogue hold nulls, values, and a key twice, without their paths."""

        def make() -> tuple[pa.Table, int]:
            table = self._decoded(entry, ["has_null", "has_value", "repeats"])
            return table, table.nbytes + 500

        flags: pa.Table = self._cache.get(self._key(entry, "flags"), make)
        return flags

    def digests(self, entry: CatalogueEntry, secret: bytes) -> np.ndarray:
        """Digests of the paths of a catalogue, 16 bytes each."""

        def make() -> tuple[np.ndarray, int]:
            sha256 = hashlib.sha256
            found = bytearray()
            for batch in self._decoded(entry, ["path"]).to_batches(_DIGESTED):
                for path in batch.column(0).cast(pa.binary()).to_pylist():
                    found += sha256(secret + path).digest()[:DIGEST_BYTES]
            return np.frombuffer(found, np.uint8), len(found) + 500

        kind = ("digests", hashlib.sha256(secret).digest())
        digests: np.ndarray = self._cache.get(self._key(entry, kind), make)
        return digests

    def remembered(self, key: tuple[object, ...], make: Callable[[], tuple[Any, int]]) -> Any:
        """A value derived from an index, kept in the same cache.

        Args:
            key: Identifies it in the cache.
            make: Makes it and returns it with its number of bytes.
        """
        return self._cache.get(key, make)

    def _key(self, entry: CatalogueEntry, kind: object) -> tuple[object, ...]:
        content = (entry.path, entry.sha256, entry.id, entry.files)
        stamp = self._roots[entry.root].stamp(entry.path)
        return (self._identities[entry.root], *content, stamp, kind)

    def _decoded(self, entry: CatalogueEntry, columns: Sequence[str]) -> pa.Table:
        """Columns of a catalogue that is not kept, but taken from memory where it is there."""
        if self._key(entry, "catalogue") in self._cache:
            return self.catalogue(entry).select(columns)
        return read_catalogue(self._roots[entry.root], entry, columns)

    def segment(self, entry: SegmentEntry) -> OpenedSegment:
        """A segment with its footer."""
        version = self._roots[entry.root].stamp(entry.path)
        key = (self._identities[entry.root], entry, version, "footer")
        opened: OpenedSegment = self._cache.get(key, self._open, entry, version)
        if opened.footer.unit_count > self._files[entry.catalogue]:
            raise corrupt(entry.path, "it counts more files than its catalogue has")
        return opened

    def _open(self, entry: SegmentEntry, version: tuple[int, ...]) -> tuple[OpenedSegment, int]:
        start = entry.size - entry.footer_length
        data = self._roots[entry.root].get_range(entry.path, start, entry.footer_length)
        footer = decode_footer(data, entry)
        opened = OpenedSegment(
            entry=entry,
            version=version,
            footer=footer,
            firsts=[group.first_key for group in footer.groups],
            physical="bytes" if isinstance(entry.key_min, bytes) else "int64",
        )
        return opened, 4 * len(data)

    def row_groups(
        self, opened: OpenedSegment, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Blocks]]:
        """Some row groups of a segment, those that are not held fetched many at once."""
        for start in range(0, len(numbers), _AHEAD):
            chunk = numbers[start : start + _AHEAD]
            fetched = self._fetched(opened, chunk) if len(chunk) > 1 else {}
            for number in chunk:
                yield number, self.row_group(opened, number, fetched.get(number))

    def row_group(self, opened: OpenedSegment, number: int, data: bytes | None = None) -> Blocks:
        """A row group of a segment, of which the bytes may be at hand.

        Args:
            opened: The segment.
            number: The row group.
            data: Its bytes, if they have been read.
        """
        key = (*self._groups_key(opened), number)
        blocks: Blocks = self._cache.get(key, self._decode, opened, number, data)
        return blocks

    def _groups_key(self, opened: OpenedSegment) -> tuple[object, ...]:
        """How the keys of a segment's row groups begin; the footer has their checksums."""
        entry = opened.entry
        identity = self._identities[entry.root]
        return (identity, entry.path, entry.footer_sha256, opened.version)

    def _decode(self, opened: OpenedSegment, number: int, data: bytes | None) -> tuple[Blocks, int]:
        entry, group = opened.entry, opened.footer.groups[number]
        if data is None:
            data = self._roots[entry.root].get_range(entry.path, group.start, group.length)
        blocks = decode_row_group(opened.footer, number, data)
        return blocks, blocks.nbytes

    def _fetched(self, opened: OpenedSegment, numbers: Sequence[int]) -> dict[int, bytes]:
        """The bytes of those row groups that are not held."""
        entry = opened.entry
        storage = self._roots[entry.root]
        key = self._groups_key(opened)
        missing = [number for number in numbers if (*key, number) not in self._cache]
        if not missing:
            return {}
        groups = [opened.footer.groups[number] for number in missing]
        starts, lengths = [g.start for g in groups], [g.length for g in groups]
        return dict(zip(missing, storage.get_ranges(entry.path, starts, lengths), strict=True))
