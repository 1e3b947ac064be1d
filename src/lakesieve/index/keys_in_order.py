"""The methods of an index that answer in the order of its keys, without any data file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.index.ordered_keys import OrderedKeys
from lakesieve.sieve import KeyType, decode_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.index.opened import OpenedIndex
    from lakesieve.index.upkeep import Upkeep
    from lakesieve.tables import Column, TableReader, TableVersion


class KeysInOrder:
    """The part of :class:`Index` that returns keys instead of data files."""

    _table: TableReader
    _upkeep: Upkeep

    def _opened(self) -> OpenedIndex:
        """Return the state that is read now."""
        raise NotImplementedError

    def _columns(self, version: TableVersion) -> tuple[Column, ...]:
        """Return the key columns, with the names and types that they have in a version."""
        raise NotImplementedError

    def min(self, version: str | int | None = None) -> pa.Scalar:
        """Return the lowest value of the column, as Spark's ``min`` does.

        No data file is read, and only the segments at the low end of the index. Nulls do not
        count. The value is null if there is no other value.

        Args:
            version: Snapshot id, time, tag or branch; ``None`` is the current version.

        Raises:
            UnsupportedError: The index cannot tell for certain: it has several columns or a budget,
                it lacks data files of the version, rows may be deleted, or the keys at this end are
                not kept. ``kind`` says which.
            NotFoundError: There is no such version.
            CorruptIndexError: The index cannot be read.

        Examples:
            >>> index.min().as_py()
            0
        """
        return self._at_end(version, descending=False)

    def max(self, version: str | int | None = None) -> pa.Scalar:
        """Return the highest value of the column, as Spark's ``max`` does.

        NaN is above all other floats. Otherwise like :meth:`min`.

        Args:
            version: As for :meth:`min`.

        Raises:
            UnsupportedError: As for :meth:`min`.

        Examples:
            >>> index.max().as_py()
            10006
        """
        return self._at_end(version, descending=True)

    def distinct(
        self,
        version: str | int | None = None,
        *,
        limit: int | None = None,
        descending: bool = False,
    ) -> pa.Array:
        """Return the distinct values of the column in their order, without null.

        A segment keeps all of its keys if there are at most 128, otherwise 32 at each end. So an
        index can list the values of a column with few of them, or some from one end.

        Args:
            version: As for :meth:`min`.
            limit: How many values to return, from the lowest on; ``None`` for all.
            descending: Whether to begin with the highest value instead.

        Raises:
            InvalidInputError: The limit is below 1.
            UnsupportedError: As for :meth:`min`, or more values are wanted than are kept.

        Examples:
            >>> index.distinct(limit=3).to_pylist()
            [0, 1, 2]
        """
        if limit is not None and limit < 1:
            raise InvalidInputError(
                f"A limit of {limit} values asks for nothing.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Give a limit of at least 1.",
            )
        column, keys = self._ordered(version)
        return _values(keys.from_end(limit, descending=descending), column)

    def distinct_count(self, version: str | int | None = None) -> int:
        """Return the number of distinct values, as ``SELECT count(DISTINCT column)`` does.

        Args:
            version: As for :meth:`min`.

        Raises:
            UnsupportedError: As for :meth:`min`, or segments with more than 128 keys overlap.

        Examples:
            >>> index.distinct_count()
            10000
        """
        return self._ordered(version)[1].count()

    def _at_end(self, version: str | int | None, *, descending: bool) -> pa.Scalar:
        column, keys = self._ordered(version)
        values = _values(keys.from_end(1, descending=descending), column)
        return values[0] if len(values) else pa.scalar(None, values.type)

    def _ordered(self, version: str | int | None) -> tuple[Column, OrderedKeys]:
        """Return the key column, and its keys in a version."""
        self._upkeep.check_table()
        resolved = self._table.version(version)
        columns = self._columns(resolved)
        return columns[0], OrderedKeys.of_version(self._opened(), self._table, resolved)


def _values(codes: Sequence[Any], column: Column) -> pa.Array:
    """Return the values of key codes in the type of their column."""
    key_type = KeyType(kind=column.kind, scale=column.scale, precision=column.precision)
    values = decode_keys(key_type, codes)
    # a value of single precision was widened without loss
    return values.cast(pa.float32()) if column.type == "float" else values
