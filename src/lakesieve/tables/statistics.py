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
from lakesieve.predicate.literals import float_code
from lakesieve.sieve import HIGHEST, LOWEST, bytewise_code
from lakesieve.tables.value_codes import is_bytewise

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from lakesieve.predicate import Ranges, RowFilter
    from lakesieve.sieve import Code, Interval
    from lakesieve.tables.contract import Column

MOST_FILES = 200_000
"""Data files of which statistics are read at most: decoding those of a million takes minutes."""

NULL_BUCKET = -2
"""The bucket of files whose partition holds the rows that have null."""

_NAN = float_code(float("nan"))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ColumnBounds:
    """Where the values of one column lie, one element a data file.

    Codes are int64, or byte strings as objects. The lowest code stands for a lower bound that is
    not known.
    """

    field_id: int
    low: np.ndarray  # code that no value of the file is below
    high: np.ndarray  # code that no value of the file is above, where `has_high`
    has_high: np.ndarray  # whether the upper bound is known
    has_null: np.ndarray  # whether the file can hold a null
    has_value: np.ndarray  # whether the file can hold a value other than null
    has_nan: np.ndarray  # whether the file can hold NaN, which the bounds of floats leave out

    def may_match(self, ranges: Ranges) -> np.ndarray:
        """Return for each file whether it can hold a value of the ranges."""
        mask: np.ndarray = self.has_value & self._overlaps(ranges.intervals)
        if ranges.nulls:
            mask |= self.has_null
        if self.has_nan.any() and ranges.contains(_NAN):
            mask |= self.has_nan
        return mask

    def _overlaps(self, intervals: Sequence[Interval]) -> np.ndarray:
        """Return for each file whether its bounds overlap an interval.

        Intervals are sorted and disjoint. So if any overlaps, then the last one that starts at or
        below the upper bound does.
        """
        is_bytes = self.low.dtype == object
        if not is_bytes:
            # no int64 is as great as the start of such an interval
            intervals = [
                one for one in intervals if not isinstance(one[0], int) or one[0] <= HIGHEST
            ]
        if not intervals:
            return np.zeros(len(self.low), bool)
        starts = _codes([low for low, _ in intervals], is_bytes=is_bytes)
        ends = _codes([high for _, high in intervals], is_bytes=is_bytes)
        last = len(starts) - 1
        at = np.searchsorted(starts, self.high, side="right") - 1
        at[~self.has_high] = last
        overlaps = (at >= 0) & (ends[at] > self.low)
        if (end := intervals[-1][1]) is None or (not is_bytes and int(end) > HIGHEST):
            # the last interval has no end
            overlaps |= at == last
        return overlaps


def _codes(codes: Sequence[Code | None], *, is_bytes: bool) -> np.ndarray:
    """Return codes as an array; the lowest code stands for `None`."""
    if not is_bytes:
        whole = [LOWEST if code is None else max(LOWEST, min(int(code), HIGHEST)) for code in codes]
        return np.array(whole, np.int64)
    return np.array([bytewise_code(code) or b"" for code in codes], object)


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
        mask = matching(rows, known.parts, len(known.paths))
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


def matching(rows: RowFilter, parts: Sequence[ColumnBounds | Buckets], count: int) -> np.ndarray:
    """Return for each of ``count`` data files whether it can hold one of the rows."""
    mask = np.ones(count, bool)
    match rows:
        case ColumnRanges():
            for part in parts:
                if part.field_id == rows.field_id:
                    mask &= part.may_match(rows.ranges)
        case AllOf():
            for arg in rows.args:
                mask &= matching(arg, parts, count)
        case AnyOf():
            mask[:] = False
            for arg in rows.args:
                mask |= matching(arg, parts, count)
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
    """Make the bounds of a column from codes; `None` is a bound that is not known."""
    is_bytes = is_bytewise(column)
    if has_nan is None:
        has_nan = np.full(len(low), column.kind == "float")
    return ColumnBounds(
        field_id=column.field_id,
        low=_codes(low, is_bytes=is_bytes),
        high=_codes(high, is_bytes=is_bytes),
        has_high=np.array([code is not None for code in high], bool),
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
