"""The statistics of Iceberg's manifests: bounds, counts and partitions of data files."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.predicate.literals import float_code
from lakesieve.sieve import wide_code
from lakesieve.tables.iceberg.schema import columns_of_fields
from lakesieve.tables.statistics import (
    NULL_BUCKET,
    Buckets,
    ColumnBounds,
    FileBounds,
    FileStatistics,
    bounds_of,
    partition_bounds,
)
from lakesieve.tables.value_codes import is_bytewise, value_code

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import pyarrow as pa

    from lakesieve.sieve import Code
    from lakesieve.tables.contract import Column

METRICS = (
    "value_counts",
    "null_value_counts",
    "nan_value_counts",
    "lower_bounds",
    "upper_bounds",
)
"""The maps by field id that a manifest has for each data file."""

_FORMATS = {
    ("integer", 4): "<i",
    ("integer", 8): "<q",
    ("date", 4): "<i",
    ("timestamp", 8): "<q",
    ("timestamp_ntz", 8): "<q",
    ("timestamp_ns", 8): "<q",
    ("timestamp_ntz_ns", 8): "<q",
    ("boolean", 1): "<?",
}
_FLOATS = {4: "<f", 8: "<d"}
_FIRST_PARTITION_FIELD = 1000
_EPOCH_DAY = date(1970, 1, 1)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIMES = ("year", "month", "day", "hour")
_UNITS = {"date": 86_400_000_000, "timestamp": 1, "timestamp_ntz": 1}
"""Microseconds of a unit of the codes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DataFileRows:
    """Live data files as manifests list them.

    Args:
        paths: Their paths in the one spelling.
        spec_ids: The partition spec of each.
        partitions: The values of its fields by field id, as far as they are known.
        metric: Returns the entries of one field in one of ``METRICS``, one a file.
    """

    paths: pa.ChunkedArray
    spec_ids: Sequence[int]
    partitions: Sequence[Mapping[int, Any]]
    metric: Callable[[str, int], Sequence[Any]]


def field_ids(spec: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the ids of the fields of a partition spec; the oldest specs leave them out."""
    return [int(p.get("field-id", _FIRST_PARTITION_FIELD + at)) for at, p in enumerate(spec)]


def iceberg_statistics(
    schema: str,
    specs: Mapping[int, Sequence[Mapping[str, Any]]],
    read: Callable[[Collection[int]], DataFileRows],
) -> FileStatistics:
    """Make the statistics of a version of an Iceberg table.

    Args:
        schema: The schema of the version, as ``TableVersion`` has it.
        specs: The fields of each partition spec, as the specification writes them to JSON.
        read: Lists the data files with the metrics of some fields.
    """
    # manifests name columns by the ids of the schema, even where a name mapping is in force
    columns = columns_of_fields(json.loads(schema)["fields"])
    by_id = {column.field_id: column for column in columns.values()}

    def bounds(fields: Collection[int]) -> FileBounds:
        files = read(fields)
        wanted = [by_id[field] for field in fields]
        parts: list[ColumnBounds | Buckets] = [_by_metrics(column, files) for column in wanted]
        for spec_id, spec in specs.items():
            for number, part in zip(field_ids(spec), spec, strict=True):
                column = by_id.get(part.get("source-id", -1))
                if column is not None and column.field_id in fields:
                    parts += _by_partition(column, str(part["transform"]), number, spec_id, files)
        return FileBounds(paths=files.paths, parts=parts)

    return FileStatistics(columns=columns, read=bounds)


def _by_metrics(column: Column, files: DataFileRows) -> ColumnBounds:
    """Bounds and counts of a column."""
    field = column.field_id
    values, nulls, nans, lows, highs = (files.metric(name, field) for name in METRICS)
    has_null = np.array([count != 0 for count in nulls], bool)
    has_value = np.array(
        [all_ is None or none is None or all_ > none for all_, none in zip(values, nulls)],  # noqa: B905 - as many
        bool,
    )
    has_nan = np.array([count != 0 for count in nans], bool) & (column.kind == "float")
    return bounds_of(
        column,
        [_decoded(bound, column) for bound in lows],
        [_decoded(bound, column) for bound in highs],
        has_null=has_null,
        has_value=has_value,
        has_nan=has_nan,
    )


def _decoded(bound: bytes | None, column: Column) -> Code | None:
    """The code of a bound, or ``None`` for one that is not surely of the column's type."""
    # engines have written the bounds of UUIDs in two orders
    if bound is None or column.type == "uuid":
        return None
    if column.kind in {"string", "binary"}:
        return bytes(bound)
    if column.kind == "decimal":
        number = int.from_bytes(bound, "big", signed=True)
        return wide_code(number) if is_bytewise(column) else number if len(bound) <= 8 else None
    if column.kind == "float" and len(bound) in _FLOATS:
        (value,) = struct.unpack(_FLOATS[len(bound)], bound)
        return None if value != value else float_code(value)  # noqa: PLR0124 - NaN bounds nothing
    form = _FORMATS.get((column.kind, len(bound)))
    return None if form is None else int(struct.unpack(form, bound)[0])


def _by_partition(
    column: Column, transform: str, number: int, spec_id: int, files: DataFileRows
) -> list[ColumnBounds | Buckets]:
    """What the values of a partition field say of its source column."""
    kind, _, width = transform.rstrip("]").partition("[")
    if column.type == "uuid" or kind == "void":
        return []
    mine = [
        spec == spec_id and number in partition
        for spec, partition in zip(files.spec_ids, files.partitions, strict=True)
    ]
    values = [
        partition[number] if own else None
        for own, partition in zip(mine, files.partitions, strict=True)
    ]
    if kind == "bucket":
        bucket_of = _bucket_of(column, int(width))
        if bucket_of is None:
            return []
        numbers = np.array(
            [
                value if isinstance(value, int) else NULL_BUCKET if own and value is None else -1
                for own, value in zip(mine, values, strict=True)
            ],
            np.int64,
        )
        return [Buckets(field_id=column.field_id, numbers=numbers, bucket_of=bucket_of)]
    is_null = [own and value is None for own, value in zip(mine, values, strict=True)]
    if kind == "identity":
        codes = [None if v is None else value_code(v, column) for v in values]
        return [partition_bounds(column, codes, is_null)]
    spans = [_span(value, kind, width, column) for value in values]
    known = np.array(mine, bool)
    return [
        bounds_of(
            column,
            [low for low, _ in spans],
            [high for _, high in spans],
            has_null=~known | np.array(is_null, bool),
            has_value=~np.array(is_null, bool),
        )
    ]


def _span(value: Any, kind: str, width: str, column: Column) -> tuple[Code | None, Code | None]:
    """The lowest and the highest code that a transform makes this value of."""
    if value is None:
        return None, None
    if kind == "truncate" and width.isdecimal():
        return _truncated(value, int(width), column)
    if kind in _TIMES and column.kind in _UNITS:
        if isinstance(value, date):
            value = (value - _EPOCH_DAY).days
        if isinstance(value, int):
            # writers have rounded times before 1970 to the next unit
            low = _start(kind, value - 1 if value <= 0 else value)
            end = _start(kind, value + 1)
            unit = _UNITS[column.kind]
            return None if low is None else low // unit, None if end is None else end // unit - 1
    return None, None


def _truncated(value: Any, width: int, column: Column) -> tuple[Code | None, Code | None]:
    code = value_code(value, column)
    if isinstance(code, int) and column.kind in {"integer", "decimal"}:
        return code, min(code + width - 1, 2**63 - 1)
    if isinstance(value, str) and len(value) < width:
        # nothing was cut off
        return code, code
    if isinstance(code, bytes) and column.kind == "string":
        # no byte of UTF-8 is as great
        return code, code + b"\xff"
    if isinstance(code, bytes) and column.kind == "binary":
        return code, None
    return None, None


def _start(kind: str, number: int) -> int | None:
    """Microseconds since the epoch at which a year, month, day or hour begins."""
    try:
        if kind == "year":
            return _micros(datetime(1970 + number, 1, 1, tzinfo=UTC))
        if kind == "month":
            return _micros(datetime(1970 + number // 12, number % 12 + 1, 1, tzinfo=UTC))
    except (ValueError, OverflowError):
        return None
    return number * (86_400_000_000 if kind == "day" else 3_600_000_000)


def _micros(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _bucket_of(column: Column, count: int) -> Callable[[Code], int | None] | None:
    """The function from a key code to its bucket; ``None`` without PyIceberg, which hashes."""
    try:
        from pyiceberg.transforms import BucketTransform
        from pyiceberg.types import BinaryType, IcebergType, LongType, StringType
    except ImportError:
        return None
    types: dict[str, IcebergType] = {
        "integer": LongType(),
        "date": LongType(),
        "timestamp": LongType(),
        "timestamp_ntz": LongType(),
        "string": StringType(),
        "binary": BinaryType(),
    }
    kind = types.get(column.kind)
    if kind is None:
        return None
    bucket = BucketTransform(count).transform(kind)

    def bucket_of(code: Code) -> int | None:
        try:
            value = code.decode() if isinstance(code, bytes) and column.kind == "string" else code
            found: int | None = bucket(value)
        except (ValueError, struct.error, OverflowError):
            return None
        return found

    return bucket_of
