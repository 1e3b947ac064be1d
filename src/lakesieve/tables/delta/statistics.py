"""Read the statistics in a Delta log: bounds, counts and partition values of data files."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from decimal import Decimal, localcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.predicate.literals import float_code
from lakesieve.tables.statistics import (
    ColumnBounds,
    FileBounds,
    FileStatistics,
    bounds_of,
    partition_bounds,
)
from lakesieve.tables.struct_schema import stored_columns
from lakesieve.tables.value_codes import decimal_code, text_code, to_single, value_code

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    import pyarrow as pa

    from lakesieve.sieve import Code
    from lakesieve.tables.contract import Column

# Some writers log decimals as doubles. These are exact up to 15 digits, and this close beyond.
_EXACT_BELOW, _NEAREST = 10**15, Decimal(2) ** -51
# bounds of timestamps are logged in milliseconds, rounded down
_MILLISECOND = timedelta(milliseconds=1)

Logged = tuple["pa.ChunkedArray", "pa.ChunkedArray", "pa.ChunkedArray"]
"""Normalized paths of data files, with their ``stats`` and ``partitionValues``."""


def delta_statistics(schema: str, read: Callable[[], Logged]) -> FileStatistics:
    """Return the file statistics of the version with this schema document."""
    columns, stored = stored_columns(schema)
    by_id = {column.field_id: column for column in columns.values()}
    partitioning = set(json.loads(schema)["partitioning"])

    def bounds(fields: Collection[int]) -> FileBounds:
        paths, stats, partitions = read()
        selected = [by_id[field] for field in fields]
        parts: list[ColumnBounds] = []
        documents: Sequence[dict[str, Any]] | None = None
        values: Sequence[Mapping[str, str | None]] | None = None
        for column in selected:
            names = stored[column.field_id]
            if column.path[0] in partitioning:
                values = values or [dict(one or ()) for one in partitions.to_pylist()]
                parts.append(_by_partition(column, names[0], values))
            else:
                documents = documents or [parsed_stats(text) for text in stats.to_pylist()]
                parts.append(_by_stats(column, names, documents))
        return FileBounds(paths=paths, parts=parts)

    return FileStatistics(columns=columns, read=bounds)


def _by_partition(
    column: Column, name: str, partitions: Sequence[Mapping[str, str | None]]
) -> ColumnBounds:
    # Delta's protocol reads an empty text as null. In columns of these types, Spark reads it as an
    # empty string or as empty bytes. So the value is treated as unknown.
    nulls = {None} if column.kind in {"string", "binary"} else {None, ""}
    is_null = [name in one and one[name] in nulls for one in partitions]
    codes = [text_code(text, column) if (text := one.get(name)) else None for one in partitions]
    return partition_bounds(column, codes, is_null)


def parsed_stats(text: str | None) -> dict[str, Any]:
    """Parse the statistics of a data file. They are empty if missing or damaged."""
    try:
        stats = json.loads(text or "{}", parse_float=Decimal)
    except (ValueError, RecursionError, ArithmeticError):
        return {}
    return stats if isinstance(stats, dict) else {}


def _by_stats(
    column: Column, names: Sequence[str], documents: Sequence[Mapping[str, Any]]
) -> ColumnBounds:
    low = [_code(_inside(d.get("minValues"), names), column) for d in documents]
    high = [_code(_inside(d.get("maxValues"), names), column, upper=True) for d in documents]
    nulls = [_count(_inside(d.get("nullCount"), names)) for d in documents]
    rows = [record_count(document) for document in documents]
    has_value = [
        none is None or all_ is None or all_ > none for none, all_ in zip(nulls, rows, strict=True)
    ]
    return bounds_of(
        column,
        low,
        high,
        has_null=np.array([count != 0 for count in nulls], bool),
        has_value=np.array(has_value, bool),
    )


def _inside(values: Any, names: Sequence[str]) -> Any:
    """Return the value of a column. For a field of a struct, it is inside the struct's value."""
    for name in names:
        values = values.get(name) if isinstance(values, dict) else None
    return values


def record_count(stats: Mapping[str, Any]) -> int | None:
    """Return the number of records in the statistics of a data file."""
    return _count(stats.get("numRecords"))


def _count(value: Any) -> int | None:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63
    return value if is_count else None


def _code(value: Any, column: Column, *, upper: bool = False) -> Code | None:
    """Return the code of a bound, or ``None`` if it may not have the column's type."""
    if isinstance(value, bool) or value is None:
        return value_code(value, column)
    if isinstance(value, int | Decimal):
        if column.kind == "float":
            return _float_code(float(value), upper=upper)
        if column.kind == "decimal":
            return _decimal_code(Decimal(value), column, upper=upper)
        return value_code(value, column) if column.kind == "integer" else None
    if not isinstance(value, str):
        return None
    if column.kind == "float":
        # NaN is not a bound; infinities are written as text
        return float_code(float(value)) if value in {"Infinity", "-Infinity"} else None
    if column.kind == "string":
        # a text that was cut off may end with half of a surrogate pair
        return None if any("\ud800" <= c <= "\udfff" for c in value) else value.encode()
    if column.kind in {"date", "timestamp", "timestamp_ntz"}:
        return _moment_code(value, column, upper=upper)
    return None


def _float_code(number: float, *, upper: bool) -> Code | None:
    """Return the code of a bound that may be the shortest text of a FLOAT, a slightly other double.

    Files that were written before a column became DOUBLE have such bounds as well.
    """
    if number != number:  # noqa: PLR0124 - NaN
        return None
    single = to_single(number)
    return float_code(max(number, single) if upper else min(number, single))


def _decimal_code(number: Decimal, column: Column, *, upper: bool) -> Code | None:
    with localcontext(prec=100):
        if abs(number) * 10**column.scale >= _EXACT_BELOW:
            number += abs(number) * (_NEAREST if upper else -_NEAREST)
    return decimal_code(number, column, upwards=upper)


def _moment_code(text: str, column: Column, *, upper: bool) -> Code | None:
    if column.kind == "date":
        return text_code(text, column)
    try:
        moment = datetime.fromisoformat(text)
        if upper:
            moment += _MILLISECOND
    except (ValueError, OverflowError):
        return None
    if (moment.tzinfo is None) is not column.kind.endswith("ntz"):
        return None
    return value_code(moment, column)
