"""Read the sizes that a Parquet file's page headers claim, before any page is decoded."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

# types of fields in Thrift's compact protocol
_BYTE, _NUMBERS, _DOUBLE, _BINARY, _STRUCT = 3, (4, 5, 6), 7, 8, 12
_FLAGS = (1, 2)
# field numbers in a page header
_TYPE, _UNCOMPRESSED, _COMPRESSED = 1, 2, 3
# by the type of a data page: the field of its own header, and in it the field of its encoding
_ENCODING = {0: (5, 2), 3: (8, 4)}
_PLAIN = 0
_DEEPEST = 4
_LONGEST = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """What the page headers of a column claim.

    Args:
        size: Decompressed bytes of all pages.
        is_plain: True if every value is stored as it is, so that the values take no more memory
            than the pages.
    """

    size: int
    is_plain: bool


def claims(data: bytes, metadata: Any) -> dict[str, Claim]:
    """Return what the page headers of each column claim, by column name.

    The footer's sizes may be false. A page that claims too little fails to decompress.
    """
    claims_by_column: dict[str, list[Claim]] = {}
    column_chunks = itertools.product(range(metadata.num_row_groups), range(metadata.num_columns))
    for group, column in column_chunks:
        chunk = metadata.row_group(group).column(column)
        # find the first page as Arrow does
        start, dictionary = chunk.data_page_offset, chunk.dictionary_page_offset
        if dictionary is not None and 0 < dictionary < start:
            start = dictionary
        end = start + chunk.total_compressed_size
        if not 0 <= start <= end <= len(data):
            raise ValueError("the pages of a column end after the file")
        claims_by_column.setdefault(chunk.path_in_schema, []).extend(_pages(data[start:end]))
    return {
        name: Claim(
            size=sum(page.size for page in pages), is_plain=all(page.is_plain for page in pages)
        )
        for name, pages in claims_by_column.items()
    }


def _pages(chunk: bytes) -> Iterator[Claim]:
    """Yield what each page header of a column chunk claims."""
    at = 0
    while at < len(chunk):
        reader = _Header(chunk, at)
        fields = reader.struct()
        uncompressed, compressed = _number(fields, _UNCOMPRESSED), _number(fields, _COMPRESSED)
        at = reader.at + compressed
        if min(uncompressed, compressed) < 0 or at > len(chunk):
            raise ValueError("the size in a page header is negative or exceeds the column chunk")
        own, encoding = _ENCODING.get(_number(fields, _TYPE), (0, 0))
        header = fields.get(own)
        is_plain = isinstance(header, dict) and header.get(encoding) == _PLAIN
        yield Claim(size=max(uncompressed, compressed), is_plain=is_plain)


def _number(fields: dict[int, Any], name: int) -> int:
    value = fields.get(name)
    # a damaged header may have a struct in place of a number
    return value if isinstance(value, int) else -1


class _Header:
    """A page header in Thrift's compact protocol, which begins at ``at``."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self.at = at

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Return the fields of a struct by id: numbers, flags and structs. Other fields are 0."""
        if depth > _DEEPEST:
            raise ValueError("a page header is nested too deep")
        fields: dict[int, Any] = {}
        field = 0
        while (kind := self._byte()) != 0:
            field = field + (kind >> 4) if kind >> 4 else self._number()
            if field in fields:
                raise ValueError("a page header has the same field twice")
            fields[field] = self._value(kind & 15, depth)
        return fields

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
            # page headers have neither lists nor maps
            raise ValueError("a page header has a field of an unexpected type")
        return 0

    def _byte(self) -> int:
        if self.at >= len(self._data):
            raise ValueError("a page header extends past its column chunk")
        self.at += 1
        return self._data[self.at - 1]

    def _varint(self) -> int:
        value = 0
        for index in range(_LONGEST):
            byte = self._byte()
            value |= (byte & 127) << (7 * index)
            if byte < 128:
                return value
        raise ValueError("a number is too long")

    def _number(self) -> int:
        value = self._varint()
        return (value >> 1) ^ -(value & 1)

    def _skip(self, length: int) -> None:
        self.at += length
