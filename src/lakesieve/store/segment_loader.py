"""Load and decode the parts of a stored index: catalogues, footers of segments, row groups."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.errors import corrupt
from lakesieve.format import decode_catalogue, decode_footer, decode_row_group
from lakesieve.sieve import LONGEST_WORD, byte_views
from lakesieve.store.snapshot import referenced_roots

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakesieve.format import CatalogueEntry, SegmentEntry, SegmentFooter
    from lakesieve.sieve import Blocks, Code, WordPart
    from lakesieve.storage import Storage
    from lakesieve.store.cache import BlockCache
    from lakesieve.store.snapshot import Snapshot

DIGEST_BYTES = 16
"""Length in bytes of the digest of a data file's path."""

# number of paths whose digests are computed at once
_DIGESTED = 65_536
# number of row groups that are fetched at once
_AHEAD = 64


def read_catalogue(
    storage: Storage, entry: CatalogueEntry, columns: Sequence[str] | None = None
) -> pa.Table:
    """Read the data files of a catalogue.

    Row ``i`` is the file of ordinal ``i``. Nothing is cached.
    """
    return decode_catalogue(storage.get(entry.path, most=entry.size), entry, columns)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OpenedSegment:
    """A segment whose footer has been read.

    Args:
        version: The stamp of the object when its footer was read, as ``Storage.stamp`` returns it.
        physical: Physical type of the keys: ``int64`` or ``bytes``.
    """

    entry: SegmentEntry
    version: tuple[int, ...]
    footer: SegmentFooter
    firsts: Sequence[Code]
    physical: str


class SegmentLoader:
    """Fetches, checks, decodes and caches the objects of one state of an index.

    An object that is missing raises ``NotFoundError``, a damaged one ``CorruptIndexError``, and one
    of a newer format ``IndexFormatError``.

    All sessions of a process share the cache. A cache key contains the root with its endpoint and
    credentials, and the SHA-256 of the object in the commit, which the object must match.
    """

    def __init__(self, storage: Storage, snapshot: Snapshot, cache: BlockCache) -> None:
        self.storage = storage
        self.cache = cache
        self.files = {entry.id: entry.files for entry in snapshot.catalogues}
        self._most_units = {entry.id: entry.most_units for entry in snapshot.catalogues}
        # an index that refers to an untrusted root is refused, even if nothing is read from that
        # root
        self._roots = [storage, *referenced_roots(storage, snapshot.definition)]
        self._identities = [root.identity for root in self._roots]

    def root_of(self, entry: CatalogueEntry | SegmentEntry) -> Storage:
        """Return the root below which an object lies."""
        return self._roots[entry.root]

    def catalogue(self, entry: CatalogueEntry) -> pa.Table:
        """Return the data files of a catalogue. Row ``i`` is the file of ordinal ``i``."""

        def make() -> tuple[pa.Table, int]:
            table = read_catalogue(self._roots[entry.root], entry)
            return table, table.nbytes

        table: pa.Table = self.cache.get(self._key(entry, "catalogue"), make)
        return table

    def flags(self, entry: CatalogueEntry) -> pa.Table:
        """Return ``has_null``, ``has_value`` and ``repeats`` of the data files of a catalogue."""

        def make() -> tuple[pa.Table, int]:
            table = self._decoded(entry, ["has_null", "has_value", "repeats"])
            return table, table.nbytes + 500

        flags: pa.Table = self.cache.get(self._key(entry, "flags"), make)
        return flags

    def records(self, entry: CatalogueEntry) -> np.ndarray:
        """Return the rows of each data file of a catalogue."""

        def make() -> tuple[np.ndarray, int]:
            records = self._decoded(entry, ["records"]).column("records").to_numpy()
            return records, records.nbytes + 500

        records: np.ndarray = self.cache.get(self._key(entry, "records"), make)
        return records

    def first_ordinals(self, entry: CatalogueEntry) -> np.ndarray:
        """Return the first ordinal of each data file of a catalogue, and the end of the last."""

        def make() -> tuple[np.ndarray, int]:
            ordinals = entry.unit.first_ordinals(self.records(entry))
            return ordinals, ordinals.nbytes + 500

        firsts: np.ndarray = self.cache.get(self._key(entry, "units"), make)
        return firsts

    def digests(self, entry: CatalogueEntry, secret: bytes) -> np.ndarray:
        """Return digests of the paths of a catalogue."""

        def make() -> tuple[np.ndarray, int]:
            sha256 = hashlib.sha256
            joined = bytearray()
            for batch in self._decoded(entry, ["path"]).to_batches(_DIGESTED):
                for path in batch.column(0).cast(pa.binary()).to_pylist():
                    joined += sha256(secret + path).digest()[:DIGEST_BYTES]
            return np.frombuffer(joined, np.uint8), len(joined) + 500

        kind = ("digests", hashlib.sha256(secret).digest())
        digests: np.ndarray = self.cache.get(self._key(entry, kind), make)
        return digests

    def _key(self, entry: CatalogueEntry, kind: object) -> tuple[object, ...]:
        content = (entry.path, entry.sha256, entry.id, entry.files)
        stamp = self._roots[entry.root].stamp(entry.path)
        return (self._identities[entry.root], *content, stamp, kind)

    def _decoded(self, entry: CatalogueEntry, columns: Sequence[str]) -> pa.Table:
        """Read columns of a catalogue, from the cache if it is there, without caching them."""
        if self._key(entry, "catalogue") in self.cache:
            return self.catalogue(entry).select(columns)
        return read_catalogue(self._roots[entry.root], entry, columns)

    def segment(self, entry: SegmentEntry) -> OpenedSegment:
        """Return a segment with its footer."""
        version = self._roots[entry.root].stamp(entry.path)
        key = (self._identities[entry.root], entry, version, "footer")
        opened: OpenedSegment = self.cache.get(key, self._open, entry, version)
        if opened.footer.unit_count > self._most_units[entry.catalogue]:
            raise corrupt(entry.path, "it has more units than its catalogue")
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
        """Yield row groups of a segment, fetching many uncached ones at once."""
        for start in range(0, len(numbers), _AHEAD):
            chunk = numbers[start : start + _AHEAD]
            fetched = self._fetched(opened, chunk) if len(chunk) > 1 else {}
            for number in chunk:
                yield number, self.row_group(opened, number, fetched.get(number))

    def row_groups_with(
        self, opened: OpenedSegment, numbers: Sequence[int], part: WordPart
    ) -> Iterator[tuple[int, Blocks]]:
        """Yield those of some row groups of words that may have a word with a part.

        The words of the others are cached without their sets, in half of the memory.
        """
        key = (*self._groups_key(opened), "words")
        letters = opened.footer.letters
        for start in range(0, len(numbers), _AHEAD):
            chunk = numbers[start : start + _AHEAD]
            unread = [number for number in chunk if (*key, number) not in self.cache]
            fetched = self._fetched(opened, unread)
            for number in chunk:
                words, blocks = self.cache.find((*key, number)), None
                if words is None:
                    blocks = self.cache.find((*self._groups_key(opened), number))
                    if blocks is None:
                        blocks, _ = self._decode(opened, number, fetched.get(number))
                    words = byte_views(blocks.keys)[0].tobytes()
                    self.cache.put((*key, number), words, len(words))
                # the part may be in the bytes that were cut off a long word
                is_cut = letters is None or letters.longest[number] >= LONGEST_WORD
                if is_cut or not part.is_nowhere(words):
                    yield number, self.row_group(opened, number) if blocks is None else blocks

    def row_group(self, opened: OpenedSegment, number: int, data: bytes | None = None) -> Blocks:
        """Return a row group of a segment, from ``data`` if its bytes have been read."""
        key = (*self._groups_key(opened), number)
        blocks: Blocks = self.cache.get(key, self._decode, opened, number, data)
        return blocks

    def _groups_key(self, opened: OpenedSegment) -> tuple[object, ...]:
        """Return the common beginning of the cache keys of a segment's row groups."""
        # the checksums of the row groups are in the footer
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
        """Return the bytes of the row groups that are not cached."""
        entry = opened.entry
        storage = self._roots[entry.root]
        key = self._groups_key(opened)
        missing = [number for number in numbers if (*key, number) not in self.cache]
        if not missing:
            return {}
        groups = [opened.footer.groups[number] for number in missing]
        starts, lengths = [g.start for g in groups], [g.length for g in groups]
        return dict(zip(missing, storage.get_ranges(entry.path, starts, lengths), strict=True))
