"""Read files of Spark's event logs: plain or compressed, whole, rolled or still being written."""

from __future__ import annotations

import io
import re
import struct
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError
from lakesieve.storage import open_object, open_storage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

    from lakesieve.storage import Storage, StorageOptions

_ROLLED = re.compile(r"events_(?P<number>\d+)_.*")
_FOLDER = "eventlog_v2_"
# no event is longer; as Python objects it takes about twenty times as much memory
_LINE = 16 << 20
_BEGINNING = 200
# limits of decompression: event logs shrink to a tenth, or to a hundredth
_LEAST, _MAX_TIMES = 64 << 20, 1000
_LZ4_MAGIC, _SNAPPY_MAGIC = b"LZ4Block", b"\x82SNAPPY\x00"
_LARGEST_BLOCK = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """One file of an event log."""

    storage: Storage  # the storage of the file
    path: str
    size: int

    @property
    def name(self) -> str:
        """The file's location, for people."""
        return f"{self.storage.location}/{self.path}"

    def lines(self) -> Iterator[bytes]:
        """Yield the lines. The last one may be incomplete."""
        codec = _codec(self.path)
        if codec == "lzf":
            raise InvalidInputError(
                f"{self.name} is compressed with LZF.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Decompress the file, or write logs with "
                "spark.eventLog.compression.codec=zstd.",
            )
        with open_object(self.storage, self.path) as stream:
            if codec is None:
                yield from _bounded(stream)
            else:
                blocks = self._limited(_BLOCKS[codec](stream))
                yield from _bounded(io.BufferedReader(_Blocks(blocks), 1 << 20))

    def _limited(self, blocks: Iterator[bytes]) -> Iterator[bytes]:
        """Yield decompressed blocks up to the size that a log of this size can have."""
        remaining = most = max(_LEAST, _MAX_TIMES * self.size)
        for block in blocks:
            remaining -= len(block)
            if remaining < 0:
                raise OSError(f"its decompressed size exceeds {most} bytes")
            yield block


def log_files(location: str, options: StorageOptions | None = None) -> list[LogFile]:
    """Return the event log files at a location, in the order in which they were written."""
    base, _, name = location.rstrip("/").rpartition("/")
    storage = open_storage(
        base or ("/" if location.startswith("/") else "."), _of(options, location)
    )
    folder = open_storage(location, _of(options, location))
    log_infos = [
        LogFile(storage=folder, path=one.path, size=one.size)
        for one in folder.objects("")
        if not one.path.rpartition("/")[2].startswith(("appstatus_", "."))
    ]
    if not log_infos:
        try:
            size = storage.head(name).size
        except NotFoundError:
            raise NotFoundError(
                f"No event log exists at {location}.",
                kind=ErrorKind.OBJECT_NOT_FOUND,
                hint="Give a file or a folder from spark.eventLog.dir.",
            ) from None
        return [LogFile(storage=storage, path=name, size=size)]
    in_rolled = name.startswith(_FOLDER)
    groups: dict[str, list[LogFile]] = {}
    for file in log_infos:
        parent = file.path.rpartition("/")[0]
        rolled = in_rolled or parent.rpartition("/")[2].startswith(_FOLDER)
        groups.setdefault(parent if rolled else file.path, []).append(file)
    return [file for _, files in sorted(groups.items()) for file in _in_order(files)]


def _of(options: StorageOptions | None, location: str) -> dict[str, str] | None:
    return None if options is None else options(location)


def _in_order(files: list[LogFile]) -> list[LogFile]:
    """Return the parts of a log in order, without parts that a compaction replaced."""
    numbered = []
    for file in files:
        match = _ROLLED.fullmatch(file.path.rpartition("/")[2])
        if match is not None:
            numbered.append((int(match["number"]), file.path.endswith(".compact"), file))
    if not numbered:
        return files
    compacted = max((number for number, is_compact, _ in numbered if is_compact), default=0)
    remaining = [
        (number, file)
        for number, is_compact, file in numbered
        if number > compacted or (is_compact and number == compacted)
    ]
    return [file for _, file in sorted(remaining, key=lambda one: one[0])]


def _codec(path: str) -> str | None:
    name = path.rpartition("/")[2].removesuffix(".inprogress").removesuffix(".compact")
    ending = name.rpartition(".")[2].lower()
    return ending if ending == "lzf" or ending in _BLOCKS else None


def _bounded(stream: io.BufferedIOBase | BinaryIO) -> Iterator[bytes]:
    """Yield the lines. A line longer than any event is cut, so that it is not valid JSON."""
    while line := stream.readline(_LINE):
        yield line if len(line) < _LINE else line[:_BEGINNING]
        while len(line) == _LINE and not line.endswith(b"\n"):
            line = stream.readline(_LINE)


class _Blocks(io.RawIOBase):
    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks = blocks
        self._held = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not len(self._held):
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._held = memoryview(block)
        count = min(len(buffer), len(self._held))
        buffer[:count] = self._held[:count]
        self._held = self._held[count:]
        return count


def _arrow_blocks(codec: str, stream: BinaryIO) -> Iterator[bytes]:
    decompressed = pa.CompressedInputStream(pa.PythonFile(stream, mode="r"), codec)
    while block := decompressed.read(1 << 20):
        yield block


def _lz4_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield blocks in the format of lz4-java's ``LZ4BlockOutputStream``."""
    codec = pa.Codec("lz4_raw")
    while header := stream.read(21):
        if len(header) < 21 or not header.startswith(_LZ4_MAGIC):
            raise OSError("an LZ4 block is incomplete or damaged")
        token, packed, size, _ = struct.unpack("<BiiI", header[8:])
        if not (0 <= packed <= _LARGEST_BLOCK and 0 <= size <= _LARGEST_BLOCK):
            raise OSError("an LZ4 block is larger than the format allows")
        data = stream.read(packed)
        if len(data) < packed:
            raise OSError("an LZ4 block is incomplete")
        # 0x10: stored without compression
        if size:
            yield data if token & 0xF0 == 0x10 else codec.decompress(data, size, asbytes=True)


def _snappy_blocks(stream: BinaryIO) -> Iterator[bytes]:
    """Yield blocks in the format of snappy-java's ``SnappyOutputStream``."""
    codec = pa.Codec("snappy")
    while header := stream.read(4):
        if header == _SNAPPY_MAGIC[:4]:
            # the magic and two versions, which repeat if streams were appended
            stream.read(12)
            continue
        size = int.from_bytes(header, "big")
        data = stream.read(size) if len(header) == 4 and size <= _LARGEST_BLOCK else b""
        if len(data) < size or not data:
            raise OSError("a Snappy block is incomplete or damaged")
        length = shift = 0
        for byte in data[:5]:
            length |= (byte & 0x7F) << shift
            shift += 7
            if not byte & 0x80:
                break
        if length > _LARGEST_BLOCK:
            raise OSError("a Snappy block is larger than lakesieve accepts")
        yield codec.decompress(data, length, asbytes=True)


_BLOCKS: dict[str, Callable[[BinaryIO], Iterator[bytes]]] = {
    **dict.fromkeys(("zstd", "zst"), partial(_arrow_blocks, "zstd")),
    "gz": partial(_arrow_blocks, "gzip"),
    "lz4": _lz4_blocks,
    "snappy": _snappy_blocks,
}
"""Decompressors by the ending of a file's name."""
