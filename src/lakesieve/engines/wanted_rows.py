"""The rows of data files that a scan must read, and how they are read from a Parquet file."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow.parquet as pq

    from lakesieve.index.row_ranges import RowRanges

_BATCH_ROWS = 20_000
"""Rows that are decoded at a time: about as many stay in memory for a row that is wanted."""


@dataclass(frozen=True, slots=True, eq=False)
class WantedRows:
    """Ranges of rows of one data file, disjoint and ascending.

    Args:
        starts: The first row of each range, int64.
        ends: The row behind the last row of each range, int64. The last range may reach behind the
            end of the file.
    """

    starts: np.ndarray
    ends: np.ndarray

    def within(self, start: int, end: int) -> WantedRows:
        """Return the wanted rows between two rows of the file."""
        starts, ends = np.maximum(self.starts, start), np.minimum(self.ends, end)
        some = starts < ends
        return WantedRows(starts[some], ends[some])

    def positions(self, count: int) -> np.ndarray:
        """Return the positions in the file of its first ``count`` wanted rows, ascending."""
        # the last range may reach behind the end of the file, which ``count`` knows
        lengths = np.diff(np.minimum(np.cumsum(self.ends - self.starts), count), prepend=0)
        before = np.cumsum(lengths) - lengths
        positions: np.ndarray = np.repeat(self.starts - before, lengths) + np.arange(count)
        return positions

    def count(self) -> int:
        """Return the number of wanted rows."""
        return int((self.ends - self.starts).sum())


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class FilesToRead:
    """What a scan must read of some data files.

    Args:
        keep: Whether each file must be read.
        rows: By the position of a file, the rows of it that must be read. Files that must be read
            and are not in it are read whole.
    """

    keep: np.ndarray
    rows: Mapping[int, WantedRows] = field(default_factory=dict)


def rows_of_each_file(ranges: RowRanges | None) -> dict[int, WantedRows]:
    """Return the wanted rows of each file that is not read whole, by its number."""
    if ranges is None:
        return {}
    listed = ~ranges.is_whole
    if not listed.any():
        return {}
    starts, ends = (part[listed] for part in ranges.rows)
    numbers, at = np.unique(ranges.files[listed], return_index=True)
    parts = zip(np.split(starts, at[1:]), np.split(ends, at[1:]), strict=True)
    return {number: WantedRows(*part) for number, part in zip(numbers.tolist(), parts, strict=True)}


def row_group_ends(metadata: pq.FileMetaData) -> np.ndarray:
    """Return the row behind the last row of each row group of a file."""
    counts = [metadata.row_group(at).num_rows for at in range(metadata.num_row_groups)]
    return np.cumsum(counts, dtype=np.int64)


def groups_with_rows(wanted: WantedRows, ends: np.ndarray) -> np.ndarray:
    """Return the numbers of the row groups of a file that hold a wanted row.

    Args:
        wanted: The wanted rows.
        ends: The row behind the last row of each row group.
    """
    starts = np.concatenate((np.zeros(1, np.int64), ends[:-1]))
    first = np.searchsorted(wanted.ends, starts, side="right")
    last = np.searchsorted(wanted.starts, ends, side="left")
    return np.flatnonzero((first < last) & (starts < ends))


def read_rows(
    file: pq.ParquetFile,
    names: Sequence[str],
    wanted: WantedRows | None,
    *,
    use_threads: bool = True,
) -> pa.Table:
    """Read some columns of the wanted rows of a Parquet file; ``None`` reads all rows.

    Only row groups that hold a wanted row are decoded, and of these only the rows up to the last
    wanted one.
    """
    if wanted is None:
        return file.read(columns=list(names), use_threads=use_threads)
    if not names:
        # Arrow loses the number of rows of tables without columns when it joins them
        rows = file.read(columns=[])
        return rows.slice(0, wanted.within(0, rows.num_rows).count())
    ends = row_group_ends(file.metadata)
    # gives the columns if no row is wanted
    parts = [file.read_row_groups([], columns=list(names))]
    for group in groups_with_rows(wanted, ends).tolist():
        start, end = int(ends[group - 1]) if group else 0, int(ends[group])
        some = wanted.within(start, end)
        if some.count() == end - start:
            parts.append(file.read_row_group(group, columns=list(names), use_threads=use_threads))
            continue
        batches = file.iter_batches(
            _BATCH_ROWS, row_groups=[group], columns=list(names), use_threads=use_threads
        )
        for batch in batches:
            parts += _cut(batch, some.within(start, start + batch.num_rows), start)
            start += batch.num_rows
            if start >= some.ends[-1]:
                break
    return pa.concat_tables(parts)


def _cut(batch: pa.RecordBatch, wanted: WantedRows, start: int) -> list[pa.Table]:
    """Return the wanted rows of a batch. The batch begins at row ``start`` of the file."""
    rows = pa.Table.from_batches([batch])
    ranges = zip((wanted.starts - start).tolist(), (wanted.ends - start).tolist(), strict=True)
    return [rows.slice(at, end - at) for at, end in ranges]
