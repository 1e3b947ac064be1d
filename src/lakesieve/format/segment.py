"""Segments: blocks as a Parquet file whose row groups can be fetched and checked one by one."""

from __future__ import annotations

import hashlib
import io
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.errors import LakesieveError
from lakesieve.format.documents import FORMAT_VERSION, check_version, corrupt
from lakesieve.format.entries import Code, SegmentEntry, code_from_json, code_to_json

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "ROW_GROUP_BLOCKS",
    "RowGroup",
    "SegmentFooter",
    "decode_footer",
    "decode_row_group",
    "encode_segment",
]

ROW_GROUP_BLOCKS = 8192
MOST_ORDINALS = 1 << 28
_KEY = b"lakesieve"


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """Where a row group lies in the file and what it begins with."""

    first_key: Code
    start: int
    length: int
    crc32: int
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentFooter:
    """A segment's checked footer: its row groups, and what Parquet needs to read them."""

    path: str
    size: int
    unit_count: int
    groups: tuple[RowGroup, ...]
    data: bytes


def encode_segment(
    keys: pa.Array,
    offsets: np.ndarray,
    ordinals: np.ndarray,
    *,
    max_key: Code,
    key_count: int,
    pair_count: int,
    unit_count: int,
    row_group_blocks: int = ROW_GROUP_BLOCKS,
) -> tuple[bytes, SegmentEntry]:
    """Write blocks as a segment file.

    Args:
        keys: First key of every block, ``int64`` or ``binary``, strictly ascending.
        offsets: Where each set starts in ``ordinals``, int64, one more than keys.
        ordinals: The sets, each ascending, int32.
        max_key: Last key of the last block.
        key_count: Distinct keys.
        pair_count: Distinct pairs.
        unit_count: Units the ordinals count.
        row_group_blocks: Blocks a row group.

    Returns:
        The file's bytes and its entry, the catalogue still unnamed.
    """
    sink = io.BytesIO()
    with _writer(sink, keys.type) as writer:
        groups = []
        for start in range(0, len(keys), row_group_blocks):
            sets = offsets[start : start + row_group_blocks + 1]
            table = _table(keys.slice(start, row_group_blocks), sets, ordinals)
            groups.append(_written(writer, sink, table))
        document = {"format_version": FORMAT_VERSION, "unit_count": unit_count, "groups": groups}
        writer.add_key_value_metadata({_KEY: json.dumps(document).encode()})
    data = sink.getvalue()
    footer = data[groups[-1]["start"] + groups[-1]["length"] :]
    entry = SegmentEntry(
        path=f"segments/{hashlib.sha256(data).hexdigest()[:40]}.parquet",
        size=len(data),
        footer_length=len(footer),
        footer_sha256=hashlib.sha256(footer).hexdigest(),
        catalogue="",
        key_min=keys[0].as_py(),
        key_max=max_key,
        blocks=len(keys),
        keys=key_count,
        pairs=pair_count,
        row_groups=len(groups),
    )
    return data, entry


def _writer(sink: io.BytesIO, key: pa.DataType) -> pq.ParquetWriter:
    encoding = "DELTA_BYTE_ARRAY" if key == pa.binary() else "DELTA_BINARY_PACKED"
    return pq.ParquetWriter(
        sink,
        _schema(key),
        compression="zstd",
        compression_level=6,
        use_dictionary=["first", "gaps.list.element"],
        column_encoding={"key": encoding},
        write_statistics=False,
        store_schema=False,
    )


def _written(writer: pq.ParquetWriter, sink: io.BytesIO, table: pa.Table) -> dict[str, Any]:
    """Write one row group; tells where it lies."""
    start = sink.tell()
    writer.write_table(table, row_group_size=table.num_rows)
    data = sink.getbuffer()[start:]
    told = {
        "first_key": code_to_json(table.column("key")[0].as_py()),
        "start": start,
        "length": len(data),
        "crc32": zlib.crc32(data),
        "blocks": table.num_rows,
    }
    data.release()  # or the buffer cannot grow
    return told


def _schema(key: pa.DataType) -> pa.Schema:
    element = pa.field("element", pa.int32(), nullable=False)
    return pa.schema(
        [
            pa.field("key", key, nullable=False),
            pa.field("first", pa.int32(), nullable=False),
            pa.field("gaps", pa.list_(element), nullable=False),
        ]
    )


def _table(keys: pa.Array, offsets: np.ndarray, ordinals: np.ndarray) -> pa.Table:
    schema = _schema(keys.type)
    sets = ordinals[offsets[0] : offsets[-1]]
    starts = offsets - offsets[0]
    lengths = np.diff(starts)
    filled = lengths > 0
    first = np.full(len(lengths), -1, np.int32)
    first[filled] = sets[starts[:-1][filled]]
    inner = np.ones(len(sets), bool)
    inner[starts[:-1][filled]] = False
    gaps = np.diff(sets, prepend=np.int32(0))[inner].astype(np.int32)
    at = np.concatenate(([0], np.cumsum(np.maximum(lengths - 1, 0)))).astype(np.int32)
    listed = pa.ListArray.from_arrays(pa.array(at), pa.array(gaps), type=schema.field("gaps").type)
    return pa.Table.from_arrays([keys, pa.array(first), listed], schema=schema)


def decode_footer(data: bytes, entry: SegmentEntry) -> SegmentFooter:
    """Check and read a segment's footer.

    Args:
        data: The last ``entry.footer_length`` bytes of the file.
        entry: What the commit says of the segment.

    Raises:
        CorruptIndexError: The bytes are not those that were written.
        IndexFormatError: They were written by a later version.
    """
    if hashlib.sha256(data).hexdigest() != entry.footer_sha256:
        raise corrupt(entry.path, "its footer fails the checksum")
    try:
        metadata = pq.read_metadata(_Sparse(entry.size, [(entry.size - len(data), data)]))
        document = json.loads(metadata.metadata[_KEY])
        check_version(document, entry.path)
        groups = tuple(
            RowGroup(
                first_key=code_from_json(group["first_key"]),
                start=int(group["start"]),
                length=int(group["length"]),
                crc32=int(group["crc32"]),
                blocks=int(group["blocks"]),
            )
            for group in document["groups"]
        )
        unit_count = int(document["unit_count"])
    except LakesieveError:
        raise
    except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
        raise corrupt(entry.path, f"its footer cannot be read ({error})") from error
    if (
        len(groups) != entry.row_groups
        or metadata.num_row_groups != entry.row_groups
        or sum(group.blocks for group in groups) != entry.blocks
        or not _lies_within(groups, entry.size - len(data))
    ):
        raise corrupt(entry.path, "its row groups are not those of the commit")
    return SegmentFooter(
        path=entry.path, size=entry.size, unit_count=unit_count, groups=groups, data=data
    )


def _lies_within(groups: Sequence[RowGroup], end: int) -> bool:
    return all(g.start >= 0 and g.length > 0 and g.start + g.length <= end for g in groups)


def decode_row_group(
    footer: SegmentFooter, number: int, data: bytes
) -> tuple[pa.Array, np.ndarray, np.ndarray]:
    """Check and read one row group.

    Args:
        footer: The segment's footer.
        number: Which row group.
        data: Its bytes, as the footer says where they lie.

    Returns:
        Keys, offsets and ordinals as :func:`encode_segment` takes them.

    Raises:
        CorruptIndexError: The bytes are not those that were written, or contradict themselves.
    """
    group = footer.groups[number]
    if len(data) != group.length or zlib.crc32(data) != group.crc32:
        raise corrupt(footer.path, f"row group {number} fails the checksum")
    end = footer.size - len(footer.data)
    sparse = _Sparse(footer.size, [(group.start, data), (end, footer.data)])
    try:
        table = pq.ParquetFile(sparse, pre_buffer=False).read_row_group(number, use_threads=False)
        keys = table.column("key").combine_chunks()
        first = table.column("first").to_numpy()
        lists = table.column("gaps").combine_chunks()
        gaps = lists.flatten().to_numpy()
        at = lists.offsets.to_numpy().astype(np.int64)
    except (pa.ArrowException, OSError, KeyError, ValueError) as error:
        raise corrupt(footer.path, f"row group {number} cannot be read ({error})") from error
    if len(keys) != group.blocks or keys.null_count or len(gaps) > MOST_ORDINALS:
        raise corrupt(footer.path, f"row group {number} holds another number of blocks")
    offsets, ordinals = _sets(first, gaps, at - at[0])
    if len(ordinals) and not (ordinals.min() >= 0 and ordinals.max() < footer.unit_count):
        raise corrupt(footer.path, f"row group {number} names a file that is not there")
    if (len(gaps) and gaps.min() <= 0) or keys[0].as_py() != group.first_key:
        raise corrupt(footer.path, f"row group {number} is not in order")
    if not _ascending(keys):
        raise corrupt(footer.path, f"the keys of row group {number} are not in order")
    return keys, offsets, ordinals


def _sets(first: np.ndarray, gaps: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    filled = first >= 0
    lengths = np.where(filled, np.diff(at) + 1, 0)
    offsets = np.concatenate(([0], np.cumsum(lengths))).astype(np.int64)
    steps = np.empty(offsets[-1], np.int64)
    heads = offsets[:-1][filled]
    inner = np.ones(len(steps), bool)
    inner[heads] = False
    steps[inner] = gaps
    steps[heads] = first[filled]
    total = np.cumsum(steps)
    # each set starts anew: take off what had been summed before its head
    before = total[heads] - steps[heads]
    return offsets, (total - np.repeat(before, lengths[filled])).astype(np.int32)


def _ascending(keys: pa.Array) -> bool:
    if keys.type == pa.int64():
        values = keys.to_numpy()
        return bool((values[1:] > values[:-1]).all())
    import pyarrow.compute as pc

    return len(keys) < 2 or bool(
        pc.all(pc.greater(keys.slice(1), keys.slice(0, len(keys) - 1))).as_py()
    )


class _Sparse(io.RawIOBase):
    """A file of which only some ranges are at hand.

    The rest reads as zeros: Parquet fetches more than it needs around a footer. Nothing of it is
    decoded, because the footer that says what lies where has passed its checksum.
    """

    def __init__(self, size: int, parts: list[tuple[int, bytes]]) -> None:
        super().__init__()
        self._size = size
        self._parts = parts
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def size(self) -> int:
        """Of the whole file, bytes."""
        return self._size

    def read(self, size: int | None = -1) -> bytes:
        end = self._size if size is None or size < 0 else min(self._at + size, self._size)
        told = bytearray(max(end - self._at, 0))
        for start, data in self._parts:
            low, high = max(start, self._at), min(start + len(data), end)
            if low < high:
                told[low - self._at : high - self._at] = data[low - start : high - start]
        self._at += len(told)
        return bytes(told)
