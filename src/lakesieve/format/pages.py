"""What the pages of a Parquet file claim to take, read from their headers before any is decoded."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# of Thrift's compact protocol
_BYTE, _NUMBERS, _DOUBLE, _BINARY, _STRUCT = 3, (4, 5, 6), 7, 8, 12
_FLAGS = (1, 2)
# of a page header
_TYPE, _UNCOMPRESSED, _COMPRESSED = 1, 2, 3
# by the type of a page of data: the field of its own header, and in that the one of its encoding
_ENCODING = {0: (5, 2), 3: (8, 4)}
_PLAIN = 0
_DEEPEST = 4
_LONGEST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What the headers of a column's pages say.

    Args:
        size: Bytes of all pages when they are decompressed.
        is_plain: Whether every value stands in them as it is, so that all take no more than that.
    """

    size: int
    is_plain: bool


def claims(data: bytes, metadata: Any) -> dict[str, Claim]:
    """Return what the headers of the pages of each column say, by the column's name.

    What the footer says of it may be a lie; a page that says too little does not decompress.
    """
    found: dict[str, list[Claim]] = {}
    column_chunks = itertools.product(range(metadata.num_row_groups), range(metadata.num_columns))
    for group, column in column_chunks:
        chunk = metadata.row_group(group).column(column)
        # as Arrow finds the first page
        start, dictionary = chunk.data_page_offset, chunk.dictionary_page_offset
        if dictionary is not None and 0 < dictionary < start:
            start = dictionary
        end = start + chunk.total_compressed_size
        if not 0 <= start <= end <= len(data):
            raise ValueError("pages beyond the file")
        found.setdefault(chunk.path_in_schema, []).extend(_pages(data[start:end]))
    return {
        name: Claim(
            size=sum(page.size for page in pages), is_plain=all(page.is_plain for page in pages)
        )
        for name, pages in found.items()
    }


def _pages(chunk: bytes) -> Iterator[Claim]:
    """Yield what the header of each page of a column chunk says."""
    at = 0
    while at < len(chunk):
        reader = _Header(chunk, at)
        fields = reader.struct()
        uncompressed, compressed = _number(fields, _UNCOMPRESSED), _number(fields, _COMPRESSED)
        at = reader.at + compressed
        if min(uncompressed, compressed) < 0 or at > len(chunk):
            raise ValueError("a page beyond its column")
        own, encoding = _ENCODING.get(_number(fields, _TYPE), (0, 0))
        header = fields.get(own)
        is_plain = isinstance(header, dict) and header.get(encoding) == _PLAIN
        yield Claim(size=max(uncompressed, compressed), is_plain=is_plain)


def _number(fields: dict[int, Any], name: int) -> int:
    value = fields.get(name)
    # a damaged header may have a struct there
    return value if isinstance(value, int) else -1


class _Header:
    """A page header in Thrift's compact protocol, which begins at ``at``."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self.at = at

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct that are numbers or structs; the others are skipped."""
        if depth > _DEEPEST:
            raise ValueError("a page header within a page header")
        found: dict[int, Any] = {}
        field = 0
        while (kind := self._byte()) != 0:
            field = field + (kind >> 4) if kind >> 4 else self._number()
            if field in found:
                raise ValueError("a page header says something twice")
            found[field] = self._value(kind & 15, depth)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if kind in _NUMBERS:
            return self._number()
        if kind in _FLAGS:
            return kind
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_BYTE, _DOUBLE):
            self._skip(1 if kind == _BYTE else 8)
        elif kind == _BINARY:
            self._skip(self._varint())
        else:
            # neither has a page header lists nor maps
            raise ValueError("no page header")
        return 0

    def _byte(self) -> int:
        if self.at >= len(self._data):
            raise ValueError("a page header beyond its column")
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        value = 0
        for index in range(_LONGEST):
            byte = self._byte()
            value |= (byte & 127) << (7 * index)
            if byte < 128:
                return value
        raise ValueError("no number")

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, length: int) -> None:
        self.at += length
