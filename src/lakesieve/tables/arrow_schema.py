"""Return a table's columns as an Arrow schema, with which other libraries' expressions are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lakesieve.tables.contract import Column

_BY_KIND = {
    "boolean": pa.bool_(),
    # any width: values that do not fit the column still compare correctly
    "integer": pa.int64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "string": pa.string(),
    "binary": pa.binary(),
}
# columns that cannot be keys, such as partition columns, may occur in expressions as well
_BY_NAME = {
    **dict.fromkeys(("byte", "short", "int", "integer", "long"), pa.int64()),
    **{name: _BY_KIND[name] for name in ("boolean", "date", "string", "binary")},
    "timestamp": pa.timestamp("us"),
    "timestamp_ntz": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
    "float": pa.float32(),
    "double": pa.float64(),
}
_LARGEST_DECIMAL = 38


def arrow_schema(
    columns: Mapping[tuple[str, ...], Column], *, uuids: pa.DataType | None = None
) -> pa.Schema:
    """Return the columns as Arrow fields. A column that cannot be a key has the type ``null``."""
    inner: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for path in columns:
        inner.setdefault(path[:-1], []).append(path)

    def field(path: tuple[str, ...]) -> pa.Field:
        if path in inner:
            return pa.field(path[-1], pa.struct([field(child) for child in inner[path]]))
        return pa.field(path[-1], _type(columns[path], uuids))

    return pa.schema([field(path) for path in inner.get((), [])])


def _type(column: Column, uuids: pa.DataType | None) -> pa.DataType:
    if column.type == "uuid" and uuids is not None:
        return uuids
    if column.kind in _BY_KIND:
        return _BY_KIND[column.kind]
    if column.elements in _BY_KIND:
        return pa.list_(_BY_KIND[column.elements])
    if column.type.startswith("decimal") and column.precision <= _LARGEST_DECIMAL:
        return pa.decimal128(column.precision, column.scale)
    return _BY_NAME.get(column.type, pa.null())
