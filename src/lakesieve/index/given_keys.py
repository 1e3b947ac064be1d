"""Keys as a user gives them, checked against the columns of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError, UnsupportedError
from lakesieve.sieve import KeyType, encode_keys
from lakesieve.tables.arrow_schema import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.tables import Column


def key_columns_of(names: Sequence[str], columns: Sequence[Column], table: str) -> list[Column]:
    """Return the leading columns of an index that given keys have."""
    known = [".".join(column.path).lower() for column in columns]
    given = [name.lower() for name in names]
    unknown = [name for name in names if name.lower() not in known]
    if unknown:
        raise InvalidInputError(
            f"The given keys have columns that are no keys of the index: {', '.join(unknown)}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=f"Select the key columns first: {', '.join(known)}, or the first of them.",
        )
    count = max((at + 1 for at, name in enumerate(known) if name in given), default=1)
    for name in known[:count]:
        if name not in given:
            raise NotFoundError(
                f"The given keys have no column {name}; they have {', '.join(names) or 'none'}.",
                kind=ErrorKind.COLUMN_NOT_FOUND,
                hint=f"Name their columns like those of {table}.",
            )
        if given.count(name) > 1:
            raise InvalidInputError(
                f"The given keys have the column {name} twice.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Leave one of them out, or rename it.",
            )
    return list(columns[:count])


class GivenKeys:
    """Keys as Arrow arrays, few enough for the memory of one process.

    Args:
        keys: Columns named like the index's, or the values of its first one: an array, a table or a
            batch of Arrow, a list, or what gives such by the Arrow C interface (Polars, pandas).
            Or the path of a Parquet file, or of a CSV file with a header line, of which other
            columns are ignored.
        columns: The index's columns as a version of the table has them.
        table: Name of the table.
    """

    def __init__(self, keys: Any, columns: Sequence[Column], table: str) -> None:
        given = _as_table(keys, columns)
        self.columns = key_columns_of(given.column_names, columns, table)
        self.key_types = [
            KeyType(kind=column.kind, scale=column.scale, precision=column.precision)
            for column in self.columns
        ]
        self.is_prefix = len(self.columns) < len(columns)
        folded = {name.lower(): name for name in given.column_names}
        schema = arrow_schema({(str(i),): column for i, column in enumerate(self.columns)})
        self.values = [
            _as_type(given.column(folded[".".join(column.path).lower()]), field.type, column)
            for column, field in zip(self.columns, schema, strict=True)
        ]


def _as_table(keys: Any, columns: Sequence[Column]) -> pa.Table:
    first = ".".join(columns[0].path)
    try:
        if isinstance(keys, str):
            return _in_file(keys, columns)
        if isinstance(keys, pa.Table):
            return keys
        if isinstance(keys, pa.RecordBatch):
            return pa.Table.from_batches([keys])
        if isinstance(keys, pa.Array | pa.ChunkedArray):
            return pa.table({first: keys})
        if isinstance(keys, list | tuple):
            (field,) = arrow_schema({("key",): columns[0]})
            return pa.table({first: pa.array(keys, field.type)})
        if hasattr(keys, "__arrow_c_stream__"):
            return pa.table(keys)
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InvalidInputError(
            f"The given keys are no values of {first}, which is of type {columns[0].type}: {error}",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give values of the column's type.",
        ) from error
    raise InvalidInputError(
        f"A {type(keys).__name__} is no set of keys.",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint="Give an Arrow array or table, a list, or a Polars or pandas frame.",
    )


def _in_file(path: str, columns: Sequence[Column]) -> pa.Table:
    """Return the columns of a file that are an index's, read as the types of those."""
    import pyarrow.parquet as pq
    from pyarrow import csv

    schema = arrow_schema({(str(at),): column for at, column in enumerate(columns)})
    types = {
        ".".join(column.path).lower(): field.type
        for column, field in zip(columns, schema, strict=True)
    }
    try:
        if not path.lower().endswith(".csv"):
            names = [n for n in pq.read_schema(path).names if n.lower() in types]
            return pq.read_table(path, columns=names, coerce_int96_timestamp_unit="us")
        with csv.open_csv(path) as opened:
            names = [name for name in opened.schema.names if name.lower() in types]
        options = csv.ConvertOptions(
            include_columns=names, column_types={name: types[name.lower()] for name in names}
        )
        return csv.read_csv(path, convert_options=options)
    except OSError as error:
        raise NotFoundError(
            f"{path} cannot be read: {error}",
            kind=ErrorKind.OBJECT_NOT_FOUND,
            hint="Give a Parquet file, or a CSV file with a header line whose name ends in .csv.",
        ) from error


def _as_type(values: pa.ChunkedArray, wanted: pa.DataType, column: Column) -> pa.ChunkedArray:
    """Return values in the form that is encoded, if nothing is lost by that."""
    found = values.type
    if pa.types.is_dictionary(found):
        values = values.cast(found.value_type)
        found = found.value_type
    if found == wanted or not _alike(found, wanted):
        return _encodable(values, column)
    try:
        return values.cast(wanted)
    except pa.ArrowException as error:
        raise _other_type(found, column) from error


def _alike(found: pa.DataType, wanted: pa.DataType) -> bool:
    """Return whether values of a type may be cast to another that compares like it."""
    t = pa.types
    if t.is_null(found):
        return True
    if t.is_timestamp(found) and t.is_timestamp(wanted):
        return (found.tz is None) == (wanted.tz is None)
    return bool(
        (t.is_integer(found) and t.is_integer(wanted))
        or (t.is_decimal(found) and t.is_decimal(wanted))
        or (_is_text(found) and _is_text(wanted))
        or (_is_bytes(found) and _is_bytes(wanted))
    )


def _is_text(found: pa.DataType) -> bool:
    t = pa.types
    return bool(t.is_string(found) or t.is_large_string(found) or t.is_string_view(found))


def _is_bytes(found: pa.DataType) -> bool:
    t = pa.types
    return bool(t.is_binary(found) or t.is_large_binary(found) or t.is_binary_view(found))


def _encodable(values: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    key_type = KeyType(kind=column.kind, scale=column.scale, precision=column.precision)
    try:
        encode_keys(key_type, values.slice(0, 0))
    except UnsupportedError as error:
        raise _other_type(values.type, column) from error
    return values


def _other_type(found: pa.DataType, column: Column) -> InvalidInputError:
    return InvalidInputError(
        f"The given keys are of type {found}, {'.'.join(column.path)} of type {column.type}.",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint="Cast them to the table's type first.",
    )
