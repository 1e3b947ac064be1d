"""What a table format itself knows of the values in its data files: bounds and partitions.

Engines leave data files out of a scan by these statistics before any index is asked. Values are
compared as key codes, so that one evaluator serves the statistics of every format. A statistic that
is missing, damaged or of an unknown form is unknown, and the data file stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.predicate import AllOf, AlwaysFalse, AnyOf, ColumnRanges
from lakesieve.predicate.literals import HIGHEST, LOWEST, float_code
from lakesieve.sieve import wide_code
from lakesieve.tables.value_codes import is_bytewise

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from lakesieve.predicate import Ranges, RowFilter
    from lakesieve.sieve import Code
    from lakesieve.tables.contract import Column

MOST_FILES = 200_000
"""Data files of which statistics are read at most: decoding those of a million takes minutes."""

NULL_BUCKET = -2
"""The bucket of files whose partition holds the rows that have null."""

_NAN = float_code(float("nan"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnBounds:
    """Where the values of one column lie, one element a data file."""

    field_id: int
    low: pa.Array  # code of a value that no value is below, or null where none is known
    high: pa.Array  # code of a value that no value is above, or null where none is known
    has_null: np.ndarray  # whether the file can hold a null
    has_value: np.ndarray  # whether the file can hold a value other than null
    has_nan: np.ndarray  # whether the file can hold NaN, which the bounds of floats leave out

    def may_match(self, ranges: Ranges) -> np.ndarray:
        """Return for each file whether it can hold a value of the ranges."""
        mask = self.has_null.copy() if ranges.nulls else np.zeros(len(self.low), bool)
        for low, high in ranges.intervals:
            mask |= self.has_value & self._overlaps(low, high)
            if _holds_nan(low, high):
                mask |= self.has_nan
        return mask

    def _overlaps(self, low: Code | None, high: Code | None) -> np.ndarray:
        """Return whether values can lie from ``low`` up to, but not including, ``high``."""
        mask = np.ones(len(self.low), bool)
        is_bytes = pa.types.is_binary(self.low.type)
        if low is not None:
            if not is_bytes and isinstance(low, int) and low > HIGHEST:
                return np.zeros(len(mask), bool)
            mask &= _known(pc.greater_equal(self.high, _scalar(low, is_bytes=is_bytes)))
        if high is not None and (is_bytes or not isinstance(high, int) or high <= HIGHEST):
            mask &= _known(pc.less(self.low, _scalar(high, is_bytes=is_bytes)))
        return mask


def _holds_nan(low: Code | None, high: Code | None) -> bool:
    """Return whether an interval of float codes holds NaN, the greatest of them."""
    above = low is None or (isinstance(low, int) and low <= _NAN)
    return above and (high is None or (isinstance(high, int) and high > _NAN))


def _scalar(code: Code, *, is_bytes: bool) -> pa.Scalar:
    if is_bytes:
        wide = wide_code(code) if isinstance(code, int) else code
        return pa.scalar(wide, pa.binary())
    return pa.scalar(max(LOWEST, min(int(code), HIGHEST)), pa.int64())


def _known(answer: pa.Array) -> np.ndarray:
    """Return whether a file stays by a comparison; it does where a bound is not known."""
    mask: np.ndarray = pc.fill_null(answer, True).to_numpy(zero_copy_only=False)
    return mask


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Buckets:
    """The hash buckets by which a table is partitioned, one element a data file."""

    field_id: int
    numbers: np.ndarray  # the bucket of each file: `NULL_BUCKET` for null, -1 where it is not known
    # returns the bucket of a key code, or `None` where that is not known
    bucket_of: Callable[[Code], int | None]

    def may_match(self, ranges: Ranges) -> np.ndarray:
        """Return for each file whether its bucket can hold one of the single values."""
        everything = np.ones(len(self.numbers), bool)
        codes = ranges.singles()
        if ranges.nulls or codes is None:
            return everything
        buckets = [self.bucket_of(code) for code in codes]
        if None in buckets:
            return everything
        return np.isin(self.numbers, np.array([-1, *(b for b in buckets if b is not None)]))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FileBounds:
    """The statistics of some columns."""

    paths: pa.ChunkedArray  # the live data files, as `live_files` spells `path`
    # what is known of them; a file must pass all parts of a column
    parts: Sequence[ColumnBounds | Buckets]


@dataclass(frozen=True, kw_only=True, eq=False)
class FileStatistics:
    """The statistics of one version of a table, read when a predicate asks for them."""

    # the columns of which something may be known, also those that cannot be indexed
    columns: Mapping[tuple[str, ...], Column]
    read: Callable[[Collection[int]], FileBounds]  # reads the statistics of some fields
    lacking: str = ""  # statistics that an engine may use and that are not read here, in words

    def may_match(self, rows: RowFilter, live: pa.Array | pa.ChunkedArray) -> np.ndarray:
        """Return for each live file whether it can hold one of the rows."""
        fields = restricted_fields(rows)
        if not fields:
            return np.full(len(live), not isinstance(rows, AlwaysFalse))
        known = self.read(fields)
        at = pc.index_in(live, value_set=known.paths).to_numpy(zero_copy_only=False)
        mask = _matching(rows, known)
        # a file of which nothing is known, as of one that is listed since, stays
        is_known = ~np.isnan(at.astype(np.float64))
        stays = np.ones(len(live), bool)
        stays[is_known] = mask[at[is_known].astype(np.int64)]
        return stays


def unread_statistics(lacking: str) -> FileStatistics:
    """Make the statistics of a table of which none are read."""
    nothing = FileBounds(paths=pa.chunked_array([], pa.string()), parts=())
    return FileStatistics(columns={}, read=lambda _: nothing, lacking=lacking)


def restricted_fields(rows: RowFilter) -> frozenset[int]:
    """Return the fields that a row filter restricts."""
    match rows:
        case ColumnRanges():
            return frozenset((rows.field_id,))
        case AllOf() | AnyOf():
            return frozenset().union(*map(restricted_fields, rows.args))
        case _:
            return frozenset()


def _matching(rows: RowFilter, known: FileBounds) -> np.ndarray:
    mask = np.ones(len(known.paths), bool)
    match rows:
        case ColumnRanges():
            for part in known.parts:
                if part.field_id == rows.field_id:
                    mask &= part.may_match(rows.ranges)
        case AllOf():
            for arg in rows.args:
                mask &= _matching(arg, known)
        case AnyOf():
            mask[:] = False
            for arg in rows.args:
                mask |= _matching(arg, known)
        case AlwaysFalse():
            mask[:] = False
    return mask


def bounds_of(
    column: Column,
    low: Sequence[Code | None],
    high: Sequence[Code | None],
    *,
    has_null: np.ndarray,
    has_value: np.ndarray,
    has_nan: np.ndarray | None = None,
) -> ColumnBounds:
    """Make the bounds of a column from codes."""
    kind = pa.binary() if is_bytewise(column) else pa.int64()
    if has_nan is None:
        has_nan = np.full(len(low), column.kind == "float")
    return ColumnBounds(
        field_id=column.field_id,
        low=pa.array(low, kind),
        high=pa.array(high, kind),
        has_null=has_null,
        has_value=has_value,
        has_nan=has_nan,
    )


def partition_bounds(
    column: Column, codes: Sequence[Code | None], is_null: Sequence[bool]
) -> ColumnBounds:
    """Make bounds of a column of which each data file holds one value."""
    null = np.array(is_null, bool)
    unknown = np.array([code is None for code in codes], bool) & ~null
    nan = np.array([code == _NAN for code in codes], bool) & (column.kind == "float")
    return bounds_of(
        column,
        codes,
        codes,
        has_null=null | unknown,
        has_value=~null,
        has_nan=nan | (unknown & (column.kind == "float")),
    )
