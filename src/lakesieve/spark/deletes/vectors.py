"""Deletion vectors as Iceberg stores them: Roaring bitmaps in the blobs of a Puffin file."""

from __future__ import annotations

import json
import struct
import zlib
from dataclasses import dataclass

import numpy as np

_PUFFIN_MAGIC = b"PFA1"
_VECTOR_MAGIC = b"\xd1\xd3\x39\x64"
_ROARING_NO_RUNS = 12346
_ARRAY_LIMIT = 4096
_POSITION_FIELD = 2147483645


def encode_vector(positions: np.ndarray) -> bytes:
    """Encode row positions (int64; ascending, distinct, not negative) as ``deletion-vector-v1``."""
    body = _VECTOR_MAGIC + _roaring64(positions)
    return struct.pack(">I", len(body)) + body + struct.pack(">I", zlib.crc32(body))


def _roaring64(positions: np.ndarray) -> bytes:
    high = positions >> 32
    keys, starts = np.unique(high, return_index=True)
    parts = [struct.pack("<Q", len(keys))]
    for key, values in zip(keys, np.split(positions, starts[1:]), strict=True):
        parts += [struct.pack("<I", int(key)), _roaring32((values & 0xFFFFFFFF).astype(np.uint32))]
    return b"".join(parts)


def _roaring32(values: np.ndarray) -> bytes:
    """Encode values in the portable form, without run containers."""
    low = (values & 0xFFFF).astype("<u2")
    keys, starts = np.unique((values >> 16).astype("<u2"), return_index=True)
    groups = np.split(low, starts[1:])
    bodies = [_container(group) for group in groups]
    head = struct.pack("<II", _ROARING_NO_RUNS, len(keys))
    described = np.empty((len(keys), 2), "<u2")
    described[:, 0] = keys
    described[:, 1] = [len(group) - 1 for group in groups]
    first = len(head) + described.nbytes + 4 * len(keys)
    offsets = first + np.concatenate(([0], np.cumsum([len(body) for body in bodies])[:-1]))
    return b"".join([head, described.tobytes(), offsets.astype("<u4").tobytes(), *bodies])


def _container(low: np.ndarray) -> bytes:
    if len(low) <= _ARRAY_LIMIT:
        return low.tobytes()
    bits = np.zeros(1 << 16, np.uint8)
    bits[low] = 1
    return np.packbits(bits, bitorder="little").tobytes()


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorBlob:
    """The place of a data file's deletion vector in its Puffin file."""

    data_file: str
    offset: int
    length: int
    positions: int


class PuffinFile:
    """A Puffin file of deletion vectors that is built in memory."""

    def __init__(self) -> None:
        self._parts = [_PUFFIN_MAGIC]
        self._size = len(_PUFFIN_MAGIC)
        self._blobs: list[dict[str, object]] = []

    @property
    def size(self) -> int:
        """Number of bytes so far."""
        return self._size

    def add(self, data_file: str, positions: np.ndarray) -> VectorBlob:
        """Add the vector of one data file, which has this path in the table."""
        blob = encode_vector(positions)
        blob_entry = VectorBlob(
            data_file=data_file, offset=self._size, length=len(blob), positions=len(positions)
        )
        self._parts.append(blob)
        self._size += len(blob)
        self._blobs.append(
            {
                "type": "deletion-vector-v1",
                "fields": [_POSITION_FIELD],
                # both values are inherited from the commit
                "snapshot-id": -1,
                "sequence-number": -1,
                "offset": blob_entry.offset,
                "length": blob_entry.length,
                "properties": {
                    "referenced-data-file": data_file,
                    "cardinality": str(blob_entry.positions),
                },
            }
        )
        return blob_entry

    def finish(self) -> bytes:
        """Return the whole file."""
        footer = {"blobs": self._blobs, "properties": {"created-by": "lakesieve"}}
        payload = json.dumps(footer).encode()
        tail = struct.pack("<i", len(payload)) + b"\0\0\0\0" + _PUFFIN_MAGIC
        return b"".join([*self._parts, _PUFFIN_MAGIC, payload, tail])
