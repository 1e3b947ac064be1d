"""Event logs as files: compressed in all of Spark's ways, rolled, truncated, damaged."""

from __future__ import annotations

import contextlib
import struct
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.advisor.log_files import log_files
from lakesieve.errors import InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXT = b"".join(b'{"Event":"SparkListenerX","n":%d}\n' % n for n in range(20_000))


def lz4(data: bytes, size: int = 32_768) -> bytes:
    """Compress in the format of lz4-java's LZ4BlockOutputStream, with an empty last block."""
    codec, made = pa.Codec("lz4_raw"), b""
    for at in range(0, len(data), size):
        block = data[at : at + size]
        packed = codec.compress(block, asbytes=True)
        stored = len(packed) >= len(block)
        token = 0x10 if stored else 0x20
        packed = block if stored else packed
        made += b"LZ4Block" + struct.pack("<BiiI", token, len(packed), len(block), 0) + packed
    return made + b"LZ4Block" + struct.pack("<BiiI", 0x10, 0, 0, 0)


def snappy(data: bytes, size: int = 32_768) -> bytes:
    """Compress in the format of snappy-java's SnappyOutputStream."""
    codec, made = pa.Codec("snappy"), b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for at in range(0, len(data), size):
        packed = codec.compress(data[at : at + size], asbytes=True)
        made += struct.pack(">i", len(packed)) + packed
    return made


def arrow(codec: str) -> Callable[[bytes], bytes]:
    """Compress with Arrow."""

    def packed(data: bytes) -> bytes:
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, codec) as stream:
            stream.write(data)
        return bytes(sink.getvalue())

    return packed


WAYS: dict[str, Callable[[bytes], bytes]] = {
    "app-1": bytes,
    "app-1.inprogress": bytes,
    "app-1.zstd": arrow("zstd"),
    "app-1.zstd.inprogress": arrow("zstd"),
    "app-1.lz4": lz4,
    "app-1.snappy": snappy,
    "app-1.gz": arrow("gzip"),
}


@pytest.mark.parametrize("name", WAYS)
def test_every_way(tmp_path: Path, name: str) -> None:
    """Every compression gives the original lines, by a file's name and by its folder's."""
    (tmp_path / name).write_bytes(WAYS[name](TEXT))
    for place in (tmp_path / name, tmp_path):
        (file,) = log_files(str(place))
        assert b"".join(file.lines()) == TEXT
        assert len(list(file.lines())) == 20_000


@pytest.mark.parametrize("name", [name for name in WAYS if name != "app-1.inprogress"])
def test_cut_off(tmp_path: Path, name: str) -> None:
    """A truncated file gives its first lines; then it ends, with or without an error."""
    whole = WAYS[name](TEXT)
    (tmp_path / name).write_bytes(whole[: len(whole) // 2])
    (file,) = log_files(str(tmp_path))
    lines = []
    try:
        for line in file.lines():
            lines.append(line)  # noqa: PERF402 - those before the error count
    except (OSError, pa.ArrowException):
        assert name != "app-1"
    assert TEXT.startswith(b"".join(lines))


@pytest.mark.parametrize("name", ["app.lz4", "app.snappy", "app.zstd", "app.gz"])
@given(data=st.binary(max_size=200))
def test_garbage(tmp_path_factory: pytest.TempPathFactory, name: str, data: bytes) -> None:
    """Garbage ends in a known error, or in lines."""
    folder = tmp_path_factory.mktemp("garbage")
    (folder / name).write_bytes(data)
    (file,) = log_files(str(folder))
    with contextlib.suppress(OSError, pa.ArrowException):
        list(file.lines())


def test_large_block(tmp_path: Path) -> None:
    """A block that claims a large size takes no memory."""
    header = b"LZ4Block" + struct.pack("<BiiI", 0x20, 2**31 - 1, 2**31 - 1, 0)
    (tmp_path / "a.lz4").write_bytes(header + b"x")
    with pytest.raises(OSError, match="larger than the format allows"):
        list(log_files(str(tmp_path))[0].lines())
    (tmp_path / "b.snappy").write_bytes(b"\x82SNAPPY\x00" + bytes(8) + b"\x7f\xff\xff\xff")
    with pytest.raises(OSError, match="incomplete or damaged"):
        list(log_files(str(tmp_path / "b.snappy"))[0].lines())


def test_lzf(tmp_path: Path) -> None:
    """LZF is not supported, and the error says what to do."""
    (tmp_path / "app.lzf").write_bytes(b"ZV")
    with pytest.raises(InvalidInputError, match="zstd"):
        list(log_files(str(tmp_path))[0].lines())


def test_rolled(tmp_path: Path) -> None:
    """Parts come in the order of their numbers, and a compacted part replaces earlier ones."""
    folder = tmp_path / "eventlog_v2_app-7"
    folder.mkdir()
    for name in ("events_1_app-7", "events_2_app-7.compact", "events_2_app-7", "events_10_app-7"):
        (folder / name).write_bytes(name.encode() + b"\n")
    (folder / "events_3_app-7.zstd").write_bytes(arrow("zstd")(b"events_3\n"))
    (folder / "appstatus_app-7.inprogress").write_bytes(b"")
    (tmp_path / "app-8").write_bytes(b"another\n")
    for place, more in ((folder, []), (tmp_path, [b"another\n"])):
        found = [b"".join(file.lines()) for file in log_files(str(place))]
        parts = [b"events_2_app-7.compact\n", b"events_3\n", b"events_10_app-7\n"]
        assert sorted(found) == sorted(parts + more)
        assert [line for line in found if line != b"another\n"] == parts


def test_nothing_there(tmp_path: Path) -> None:
    """If nothing is there, the error says what to give."""
    with pytest.raises(NotFoundError, match=r"spark\.eventLog\.dir"):
        log_files(str(tmp_path / "none"))
