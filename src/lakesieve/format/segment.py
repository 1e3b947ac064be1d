"""Segments: files of blocks, whose row groups can be fetched and checked one by one."""

from __future__ import annotations

import base64
import binascii
import hashlib
import itertools
import json
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError, corrupt
from lakesieve.format.documents import FORMAT_VERSION, check_version
from lakesieve.format.end_keys import ends_from_json, ends_to_json
from lakesieve.format.entries import SegmentEntry, code_from_json, code_to_json
from lakesieve.format.groups import (
    LONGEST_SEPARATOR,
    MAX_BLOCKS,
    MAX_BYTES,
    decode_group,
    encode_group,
)
from lakesieve.format.letters import GroupLetters, letters_from_json, letters_to_json
from lakesieve.format.sets import MAX_ORDINALS
from lakesieve.format.streams import StreamError, StreamWriter, compressed, decompressed
from lakesieve.sieve import MAX_PREFIX_BYTES, SharedPrefixes, TextCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakesieve.sieve import Blocks, Code, EndKeys

GROUP_BLOCKS = 1 << 16
GROUP_BYTES = 256 << 10
"""Limits of a row group before compression. A point look-up fetches one row group."""

_MAGIC = b"LSIEVE1\n"
# ordinals are int32
_MAX_UNITS = 2**31
# rough size of a separator that shares its beginning with the one before it
_KEY_BYTES = 12
# longer first and last keys are cut, because a bound need not be a key
_BOUND_BYTES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class RowGroup:
    """The position of a row group in the file, and its first key."""

    first_key: Code
    start: int
    length: int
    crc32: int
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SegmentFooter:
    """The checked footer of a segment.

    Args:
        bytewise: Whether its separators are byte strings.
        text: The text code of its separators, if they have one.
        max_key: The last code that it covers.
        letters: What its separators of bytes are made of, if the footer says so.
        ends: The keys at both ends, if the footer has them.
    """

    path: str
    catalogue: str
    unit_count: int
    bytewise: bool
    text: TextCode | None
    max_key: Code
    groups: tuple[RowGroup, ...]
    letters: GroupLetters | None
    ends: EndKeys | None


def encode_segment(
    blocks: Blocks,
    *,
    unit_count: int,
    catalogue: str = "",
    group_blocks: int = GROUP_BLOCKS,
    group_bytes: int = GROUP_BYTES,
) -> tuple[bytes, SegmentEntry]:
    """Encode at least one block as a segment file.

    Two catalogues never share a segment. ``group_bytes`` is a target: sizes are estimated, and one
    block may be larger.

    Returns:
        The file's bytes and its entry.
    """
    pieces = [_MAGIC]
    at = len(_MAGIC)
    writer = StreamWriter()
    groups: list[list[Any]] = []
    for start, end in _slices(blocks, group_blocks, group_bytes, unit_count):
        keys = blocks.keys.slice(start, end - start)
        offsets = blocks.offsets[start : end + 1]
        data = encode_group(writer, keys, offsets, blocks.ordinals, unit_count)
        first = code_to_json(keys[0].as_py())
        groups.append([first, at, len(data), zlib.crc32(data), end - start])
        pieces.append(data)
        at += len(data)
    footer = _footer(blocks, unit_count, catalogue, groups)
    data = b"".join((*pieces, footer))
    entry = SegmentEntry(
        path=f"segments/{hashlib.sha256(data).hexdigest()[:40]}.sieve",
        size=len(data),
        footer_length=len(footer),
        footer_sha256=hashlib.sha256(footer).hexdigest(),
        catalogue=catalogue,
        key_min=_lower_bound(blocks.bounds[0]),
        key_max=_upper_bound(blocks.bounds[1]),
        blocks=len(blocks),
        keys=blocks.key_count,
        pairs=blocks.pair_count,
        row_groups=len(groups),
    )
    return data, entry


def _footer(blocks: Blocks, unit_count: int, catalogue: str, groups: list[list[Any]]) -> bytes:
    document = {
        "format_version": FORMAT_VERSION,
        "catalogue": catalogue,
        "unit_count": unit_count,
        "separators": "bytes" if blocks.keys.type == pa.binary() else "int64",
        "text": None if blocks.text is None else _text_to_json(blocks.text),
        "max_key": code_to_json(blocks.max_key),
        "groups": groups,
        **letters_to_json(blocks, [group[-1] for group in groups]),
        **ends_to_json(blocks),
    }
    return json.dumps(document, separators=(",", ":")).encode()


def _slices(
    blocks: Blocks, group_blocks: int, group_bytes: int, units: int
) -> Iterator[tuple[int, int]]:
    """Cut blocks into row groups of about the same number of bytes."""
    sizes = np.diff(blocks.offsets)
    # a high estimate: a byte or two for each ordinal, or a bitmap
    width = 1 if units <= 1 << 10 else 2
    costs = 2 + np.minimum(width * sizes, 2 + units // 8)
    # the limits that readers enforce are checked exactly
    limits = [(blocks.offsets[1:], MAX_ORDINALS)]
    if blocks.keys.type == pa.binary():
        lengths = np.diff(np.frombuffer(blocks.keys.buffers()[1], np.int32)[blocks.keys.offset :])
        lengths = lengths[: len(blocks)].astype(np.int64)
        if int(lengths.max()) > LONGEST_SEPARATOR:
            raise InvalidInputError(
                f"Keys that differ only after {LONGEST_SEPARATOR} bytes cannot be indexed.",
                kind=ErrorKind.UNSUPPORTED_TYPE,
                hint="Index another column.",
            )
        costs = costs + np.minimum(lengths, _KEY_BYTES)
        limits.append((np.cumsum(lengths), MAX_BYTES))
    limits.append((np.cumsum(costs), group_bytes))
    start = 0
    while start < len(blocks):
        end = min(start + group_blocks, len(blocks))
        for sums, most in limits:
            used = int(sums[start - 1]) if start else 0
            end = min(end, int(np.searchsorted(sums, used + most, side="right")))
        end = max(end, start + 1)
        yield start, end
        start = end


def _lower_bound(key: Code) -> Code:
    return key if isinstance(key, int) else key[:_BOUND_BYTES]


def _upper_bound(key: Code) -> Code:
    if isinstance(key, int) or len(key) <= _BOUND_BYTES:
        return key
    stem = key[:_BOUND_BYTES].rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else key


def _text_to_json(text: TextCode) -> dict[str, Any]:
    prefix = base64.b64encode(text.prefix).decode("ascii")
    document: dict[str, Any] = {
        "prefix": prefix,
        "alphabets": [list(alphabet) for alphabet in text.alphabets],
    }
    if text.shared_prefixes is not None:
        joined = b"".join(text.shared_prefixes.texts)
        document["heads"] = {
            "delimiter": text.shared_prefixes.delimiter,
            "count": text.shared_prefixes.count,
            "size": len(joined),
            "texts": base64.b64encode(compressed(joined)).decode("ascii"),
        }
    return document


def _text_from_json(document: Any) -> TextCode | None:
    if document is None:
        return None
    alphabets = tuple(tuple(alphabet) for alphabet in document["alphabets"])
    if not all(type(symbol) is int for alphabet in alphabets for symbol in alphabet):
        raise TypeError("a symbol of its text code is not an integer")
    prefixes = None if document.get("heads") is None else _prefixes_from_json(document["heads"])
    text = TextCode(base64.b64decode(document["prefix"], validate=True), alphabets, prefixes)
    if not text.is_valid:
        raise ValueError("its text code is invalid")
    return text


def _prefixes_from_json(document: Any) -> SharedPrefixes:
    delimiter, count, size = (_count(document[name]) for name in ("delimiter", "count", "size"))
    if size > MAX_PREFIX_BYTES or not 0 < count <= size:
        raise ValueError("its shared prefixes are too long")
    joined = decompressed(base64.b64decode(document["texts"], validate=True), size)
    return SharedPrefixes.split(joined, delimiter, count)


def decode_footer(data: bytes, entry: SegmentEntry) -> SegmentFooter:
    """Check and decode a segment's footer, the last ``entry.footer_length`` bytes of the file."""
    if hashlib.sha256(data).hexdigest() != entry.footer_sha256:
        raise corrupt(entry.path, "the checksum of its footer does not match")
    try:
        document = json.loads(data)
        check_version(document, entry.path)
        groups = tuple(_row_group(group) for group in document["groups"])
        footer = SegmentFooter(
            path=entry.path,
            catalogue=document["catalogue"],
            unit_count=_units(document["unit_count"]),
            bytewise={"bytes": True, "int64": False}[document["separators"]],
            text=_text_from_json(document["text"]),
            max_key=code_from_json(document["max_key"]),
            groups=groups,
            letters=letters_from_json(document, len(groups)),
            ends=ends_from_json(document.get("ends"), entry),
        )
    except LakesieveError:
        raise
    except (
        *(KeyError, TypeError, ValueError, AttributeError, RecursionError),
        *(binascii.Error, StreamError),
    ) as error:
        raise corrupt(entry.path, f"its footer cannot be read ({error})") from error
    if (
        footer.catalogue != entry.catalogue
        or isinstance(entry.key_min, bytes) != (footer.bytewise or footer.text is not None)
        or len(groups) != entry.row_groups
        or sum(group.blocks for group in groups) != entry.blocks
        or not _lies_within(groups, entry.size - len(data))
        or not _in_order(footer)
    ):
        raise corrupt(entry.path, "its row groups differ from the commit")
    return footer


def _row_group(document: Any) -> RowGroup:
    first, *counts = document
    start, length, crc32, blocks = (_count(count) for count in counts)
    return RowGroup(
        first_key=code_from_json(first), start=start, length=length, crc32=crc32, blocks=blocks
    )


def _count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is not a count")
    return value


def _units(value: Any) -> int:
    if _count(value) > _MAX_UNITS:
        raise ValueError(f"{value} units are too many")
    return int(value)


def _lies_within(groups: Sequence[RowGroup], end: int) -> bool:
    fitting = all(g.length > 0 and g.start + g.length <= end for g in groups)
    return fitting and all(0 < g.blocks <= MAX_BLOCKS for g in groups)


def _in_order(footer: SegmentFooter) -> bool:
    kind = bytes if footer.bytewise else int
    codes = [*(group.first_key for group in footer.groups), footer.max_key]
    if not all(type(code) is kind for code in codes) or (footer.bytewise and footer.text):
        return False
    if len(codes) < 2:
        return False
    ascending = all(a < b for a, b in itertools.pairwise(codes[:-1]))  # type: ignore[operator]
    return ascending and codes[-2] <= codes[-1]  # type: ignore[operator]


def decode_row_group(footer: SegmentFooter, number: int, data: bytes) -> Blocks:
    """Check and decode one row group. Its last block reaches up to the next row group."""
    group = footer.groups[number]
    if len(data) != group.length or zlib.crc32(data) != group.crc32:
        raise corrupt(footer.path, f"the checksum of row group {number} does not match")
    is_last = number + 1 == len(footer.groups)
    end = footer.max_key if is_last else footer.groups[number + 1].first_key
    try:
        blocks = decode_group(
            data,
            count=group.blocks,
            units=footer.unit_count,
            text=footer.text,
            bytewise=footer.bytewise,
            max_key=end,
        )
    except StreamError as error:
        raise corrupt(footer.path, f"row group {number} cannot be read ({error})") from error
    if not is_last and blocks.keys[-1].as_py() >= end:
        raise corrupt(footer.path, f"row group {number} overlaps the next one")
    if blocks.bounds[0] != group.first_key:
        raise corrupt(
            footer.path, f"row group {number} begins with another key than the footer says"
        )
    return blocks
