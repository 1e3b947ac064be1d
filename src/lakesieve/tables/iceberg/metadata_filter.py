"""Iceberg's own pruning: manifests by their summaries, files by their partitions and bounds."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.predicate import AllOf, AlwaysTrue, AnyOf, ColumnRanges, Ranges
from lakesieve.tables.iceberg.manifest_files import listed_files
from lakesieve.tables.iceberg.statistics import (
    TIMES,
    DataFileRows,
    bound_code,
    bounds_of_files,
    buckets_of,
    field_ids,
    longest_code,
    partition_fields,
    span_of,
)
from lakesieve.tables.statistics import bounds_of, matching, restricted_fields

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from lakesieve.predicate import RowFilter
    from lakesieve.sieve import Code
    from lakesieve.tables.contract import Column
    from lakesieve.tables.iceberg.manifest_files import Manifest, ManifestFiles
    from lakesieve.tables.statistics import Buckets, ColumnBounds

_MOST_RANGES = 2000
"""Ranges of a leaf that are compared with the bounds of files."""

_FEW = 16
"""Files of which statistics are looked up one by one, which Arrow takes longer to begin with."""

_OF_A_LEAF = 100
"""What comparing a leaf with any number of files costs, in files."""


class MetadataFilter:
    """Leaves out manifests and files that hold no row of a filter, by Iceberg's own metadata."""

    def __init__(
        self,
        rows: RowFilter,  # the rows that are wanted, by the field ids of manifests
        columns: Mapping[tuple[str, ...], Column],
        specs: Mapping[int, Sequence[Mapping[str, Any]]],  # the fields of each partition spec
        *,
        # how many files are compared with leaves of the filter in all; further files stay
        judgements: int | None = None,
    ) -> None:
        self._rows = _coarse(rows)
        self._specs = specs
        self._leaves = _count(rows)
        self._by_id = {column.field_id: column for column in columns.values()}
        self._fields = restricted_fields(rows)
        # a filter of no row at all restricts no field
        self._by_partition = (self._leaves > 0 and not self._fields) or any(
            True for _ in partition_fields(self._by_id, specs, self._fields)
        )
        self._judgements = judgements
        # whether a file stayed because the filter is too large for so many files
        self.gave_up = False

    def manifests(self, manifests: Sequence[Manifest]) -> np.ndarray:
        """Return for each manifest whether it can list a file with a row."""
        live = np.array([manifest.has_live_files for manifest in manifests], bool)
        if not self._by_partition:
            return live
        parts = _summary_bounds(self._by_id, self._specs, self._fields, manifests)
        mask: np.ndarray = live & matching(self._rows, parts, len(manifests))
        return mask

    def files(self, parts: Sequence[tuple[ManifestFiles, np.ndarray]]) -> list[np.ndarray]:
        """Return the rows of some rows of manifests whose files can hold a row."""
        if not self._leaves or not parts:
            return [rows for _, rows in parts]
        records = [files.details.column("record_count").to_numpy()[rows] for files, rows in parts]
        count = sum(len(rows) for _, rows in parts)
        if self._judgements is not None:
            # each comparison has a cost besides that of the files
            self._judgements -= self._leaves * (count + _OF_A_LEAF)
            self.gave_up = self.gave_up or self._judgements < 0
        if self.gave_up:
            return [rows[of != 0] for (_, rows), of in zip(parts, records, strict=True)]
        bounds = bounds_of_files(
            self._by_id, self._specs, self._fields, rows_of_files(parts, self._specs)
        )
        mask = matching(self._rows, bounds, count)
        # old writers, which do not know how many rows a file has, write less than none
        all_records = np.concatenate(records) if records else np.empty(0, np.int64)
        mask = (mask | (all_records < 0)) & (all_records != 0)
        ends = np.cumsum([len(rows) for _, rows in parts])
        return [rows[of] for (_, rows), of in zip(parts, np.split(mask, ends)[:-1], strict=True)]


def _count(rows: RowFilter) -> int:
    if isinstance(rows, AllOf | AnyOf):
        return sum(map(_count, rows.args))
    return 0 if isinstance(rows, AlwaysTrue) else 1


def _coarse(rows: RowFilter) -> RowFilter:
    """Return a filter with fewer ranges that matches the same rows or more."""
    if isinstance(rows, AllOf):
        return AllOf(args=tuple(map(_coarse, rows.args)))
    if isinstance(rows, AnyOf):
        return AnyOf(args=tuple(map(_coarse, rows.args)))
    if not isinstance(rows, ColumnRanges) or len(rows.ranges.intervals) <= _MOST_RANGES:
        return rows
    intervals = rows.ranges.intervals
    step = -(-len(intervals) // _MOST_RANGES)
    joined = tuple(
        (intervals[start][0], intervals[min(start + step, len(intervals)) - 1][1])
        for start in range(0, len(intervals), step)
    )
    return ColumnRanges(
        field_id=rows.field_id, ranges=Ranges(intervals=joined, nulls=rows.ranges.nulls)
    )


def rows_of_files(
    parts: Sequence[tuple[ManifestFiles, np.ndarray]],
    specs: Mapping[int, Sequence[Mapping[str, Any]]],
) -> DataFileRows:
    """Return the statistics of some rows of manifests, in a table with these partition specs."""
    chosen = [(files, pa.array(rows)) for files, rows in parts]
    spec_ids: list[int] = []
    partitions: list[Mapping[int, Any]] = []
    for files, rows in parts:
        spec_id = files.manifest.spec_id
        ids = field_ids(specs.get(spec_id, ()))
        # one of another length is of a spec that the table does not know
        known = [
            dict(zip(ids, p, strict=False)) if len(ids) == len(p) else {} for p in files.partitions
        ]
        spec_ids += [spec_id] * len(rows)
        partitions += [known[place] for place in files.places[rows].tolist()]

    def metric(name: str, field: int) -> list[Any]:
        if len(spec_ids) <= _FEW:
            return [file.mapping(name).get(field) for file in listed_files(parts)]
        key = pa.scalar(field, pa.int32())
        values: list[Any] = []
        for files, rows in chosen:
            maps = files.details.column(name).take(rows)
            values += pc.map_lookup(maps, key, "first").to_pylist()
        return values

    return DataFileRows(spec_ids=spec_ids, partitions=partitions, metric=metric)


def _summary_bounds(
    by_id: Mapping[int, Column],
    specs: Mapping[int, Sequence[Mapping[str, Any]]],
    fields: Collection[int],
    manifests: Sequence[Manifest],
) -> list[ColumnBounds | Buckets]:
    """Return what a manifest list says of the partitions of the files of each manifest."""
    parts: list[ColumnBounds | Buckets] = []
    for column, transform, _, at, spec_id in partition_fields(by_id, specs, fields):
        width = len(specs[spec_id])
        summaries = [
            one.summaries[at] if one.spec_id == spec_id and len(one.summaries) == width else None
            for one in manifests
        ]
        parts += _by_summaries(column, transform, summaries)
    return parts


def _by_summaries(
    column: Column, transform: str, summaries: Sequence[Mapping[str, Any] | None]
) -> list[ColumnBounds | Buckets]:
    """Return what the summaries of a partition field, one a manifest, say of its column."""
    kind, _, width = transform.rstrip("]").partition("[")
    ends = [((one or {}).get("lower_bound"), (one or {}).get("upper_bound")) for one in summaries]
    has_null = np.array([one is None or bool(one["contains_null"]) for one in summaries], bool)
    if kind == "bucket":
        numbers = [
            struct.unpack("<i", low)[0]
            if low and low == high and not null and len(low) == 4
            else -1
            for (low, high), null in zip(ends, has_null.tolist(), strict=True)
        ]
        return buckets_of(column, width, numbers)
    nans = [one is None or one.get("contains_nan") is not False for one in summaries]
    bounds = [_ends(low, high, kind, width, column) for low, high in ends]
    return [
        bounds_of(
            column,
            [low for low, _ in bounds],
            [high for _, high in bounds],
            has_null=has_null,
            has_value=np.ones(len(summaries), bool),
            has_nan=np.array(nans, bool) & (column.kind == "float"),
        )
    ]


def _ends(
    low: bytes | None, high: bytes | None, kind: str, width: str, column: Column
) -> tuple[Code | None, Code | None]:
    """Return the codes between which a column lies if its transformed values lie in bounds."""
    if kind in TIMES:
        first, last = (
            None if bound is None or len(bound) != 4 else struct.unpack("<i", bound)[0]
            for bound in (low, high)
        )
        return span_of(first, kind, width, column)[0], span_of(last, kind, width, column)[1]
    if kind not in {"identity", "truncate"}:
        return None, None
    lower, upper = bound_code(low, column), bound_code(high, column)
    if kind == "truncate" and upper is not None:
        upper = longest_code(upper, width, column)
    return lower, upper
