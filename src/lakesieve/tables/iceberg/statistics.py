"""The statistics of Iceberg's manifests: bounds, counts and partitions of data files."""

from __future__ import annotations

import json
import struct
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.predicate.literals import float_code
from lakesieve.sieve import HIGHEST, wide_code
from lakesieve.tables.iceberg.manifest_files import BOUNDS, COUNTS
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
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    import pyarrow as pa

    from lakesieve.sieve import Code
    from lakesieve.tables.contract import Column

METRICS = (*COUNTS[1:], *BOUNDS)
"""The maps by field id that bound the values of each data file."""

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
TIMES = ("year", "month", "day", "hour")
_UNITS = {"date": 86_400_000_000, "timestamp": 1, "timestamp_ntz": 1}
"""Microseconds of a unit of the codes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DataFileRows:
    """What manifests say of live data files, one element a file."""

    spec_ids: Sequence[int]
    partitions: Sequence[Mapping[int, Any]]  # values by partition field id, as far as known
    # returns the entries of one field in one of `METRICS`, one a file
    metric: Callable[[str, int], Sequence[Any]]


def field_ids(spec: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the ids of the fields of a partition spec; the oldest specs leave them out."""
    return [int(p.get("field-id", _FIRST_PARTITION_FIELD + at)) for at, p in enumerate(spec)]


def iceberg_statistics(
    schema: str,
    specs: Mapping[int, Sequence[Mapping[str, Any]]],
    read: Callable[[], tuple[pa.ChunkedArray, DataFileRows]],
) -> FileStatistics:
    """Return the file statistics of one version of an Iceberg table.

    ``schema`` is the version's ``TableVersion.schema``. ``specs`` maps the id of each partition
    spec to the fields of the spec. ``read`` returns the paths of the data files and their
    statistics.
    """
    # manifests name columns by the ids of the schema, even where a name mapping is in force
    columns = columns_of_fields(json.loads(schema)["fields"])
    by_id = {column.field_id: column for column in columns.values()}

    def bounds(fields: Collection[int]) -> FileBounds:
        paths, files = read()
        return FileBounds(paths=paths, parts=bounds_of_files(by_id, specs, fields, files))

    return FileStatistics(columns=columns, read=bounds)


def bounds_of_files(
    by_id: Mapping[int, Column],
    specs: Mapping[int, Sequence[Mapping[str, Any]]],
    fields: Collection[int],
    files: DataFileRows,
) -> list[ColumnBounds | Buckets]:
    """Return what statistics and partitions of data files say of some columns."""
    parts: list[ColumnBounds | Buckets] = [_by_metrics(by_id[field], files) for field in fields]
    for column, transform, number, _, spec_id in partition_fields(by_id, specs, fields):
        mine = [
            spec == spec_id and number in partition
            for spec, partition in zip(files.spec_ids, files.partitions, strict=True)
        ]
        values = [
            partition[number] if own else None
            for own, partition in zip(mine, files.partitions, strict=True)
        ]
        parts += _by_partition(column, transform, mine, values)
    return parts


def partition_fields(
    by_id: Mapping[int, Column],
    specs: Mapping[int, Sequence[Mapping[str, Any]]],
    fields: Collection[int],
) -> Iterator[tuple[Column, str, int, int, int]]:
    """Yield the partition fields of columns: column, transform, field id, place, and spec."""
    for spec_id, spec in specs.items():
        for at, (number, part) in enumerate(zip(field_ids(spec), spec, strict=True)):
            column = by_id.get(part.get("source-id", -1))
            transform = str(part["transform"])
            # engines have written the bounds of UUIDs in two orders
            usable = column is not None and column.type != "uuid" and transform != "void"
            if column is not None and usable and column.field_id in fields:
                yield column, transform, number, at, spec_id


def _by_metrics(column: Column, files: DataFileRows) -> ColumnBounds:
    """Return the bounds and counts of a column."""
    field = column.field_id
    values, nulls, nans, lows, highs = (files.metric(name, field) for name in METRICS)
    has_null = np.array([count != 0 for count in nulls], bool)
    # NaN has a count of its own
    others = [
        all_ is None or null is None or all_ > null + (nan or 0)
        for all_, null, nan in zip(values, nulls, nans, strict=True)
    ]
    has_nan = np.array([count != 0 for count in nans], bool) & (column.kind == "float")
    return bounds_of(
        column,
        [bound_code(bound, column) for bound in lows],
        [bound_code(bound, column) for bound in highs],
        has_null=has_null,
        has_value=np.array(others, bool),
        has_nan=has_nan,
    )


def bound_code(bound: bytes | None, column: Column) -> Code | None:
    """Return the code of a bound, or ``None`` if it may be of another type than the column."""
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
    column: Column, transform: str, mine: Sequence[bool], values: Sequence[Any]
) -> list[ColumnBounds | Buckets]:
    """Return what the values of a partition field say of its source column.

    ``mine`` says whether each file has the field, and ``values`` has the value of each file.
    """
    kind, _, width = transform.rstrip("]").partition("[")
    if kind == "bucket":
        numbers = [
            value if isinstance(value, int) else NULL_BUCKET if own and value is None else -1
            for own, value in zip(mine, values, strict=True)
        ]
        return buckets_of(column, width, numbers)
    is_null = [own and value is None for own, value in zip(mine, values, strict=True)]
    if kind == "identity":
        codes = [None if v is None else _code(v, column) for v in values]
        return [partition_bounds(column, codes, is_null)]
    spans = [span_of(value, kind, width, column) for value in values]
    return [
        bounds_of(
            column,
            [low for low, _ in spans],
            [high for _, high in spans],
            has_null=~np.array(mine, bool) | np.array(is_null, bool),
            has_value=~np.array(is_null, bool),
        )
    ]


def buckets_of(column: Column, width: str, numbers: Sequence[int]) -> list[ColumnBounds | Buckets]:
    """Return what the bucket of each file, or -1, says of a column."""
    bucket_of = _bucket_of(column, int(width))
    if bucket_of is None:
        return []
    of_files = np.array(numbers, np.int64)
    return [Buckets(field_id=column.field_id, numbers=of_files, bucket_of=bucket_of)]


def _code(value: Any, column: Column) -> Code | None:
    if column.kind.startswith("timestamp") and type(value) is int:
        return value
    return value_code(value, column)


def span_of(value: Any, kind: str, width: str, column: Column) -> tuple[Code | None, Code | None]:
    """Return the lowest and the highest code that a transform turns into a value."""
    if value is None:
        return None, None
    if kind == "truncate" and width.isdecimal():
        return _truncated(value, int(width), column)
    if kind in TIMES and column.kind in _UNITS:
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
    code = _code(value, column)
    if isinstance(value, str) and len(value) < width:
        # nothing was cut off
        return code, code
    known = isinstance(code, int | bytes) and column.kind in {"integer", "decimal", "string"}
    if not known or code is None:
        return (code if column.kind == "binary" else None), None
    return code, longest_code(code, str(width), column)


def longest_code(code: Code, width: str, column: Column) -> Code | None:
    """Return the greatest code that truncation turns into a code, if that is known."""
    if isinstance(code, int) and column.kind in {"integer", "decimal"} and width.isdecimal():
        return min(code + int(width) - 1, HIGHEST)
    # no byte of UTF-8 is as great
    return code + b"\xff" if isinstance(code, bytes) and column.kind == "string" else None


def _start(kind: str, number: int) -> int | None:
    """Return the microseconds since the epoch at which a year, month, day or hour begins."""
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
    """Return the function from a key code to its bucket; ``None`` if it is not known.

    PyIceberg has the hash function.
    """
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
