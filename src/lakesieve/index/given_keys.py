"""Read keys that a user passes, and check them against the columns of an index."""

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
    """Return the leading columns of an index for which keys are given."""
    index_names = [".".join(column.path).lower() for column in columns]
    given_names = [name.lower() for name in names]
    unknown = [name for name in names if name.lower() not in index_names]
    if unknown:
        raise InvalidInputError(
            "The given keys have columns that are not key columns of the index: "
            f"{', '.join(unknown)}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=f"Select the key columns first: {', '.join(index_names)}, or leading ones.",
        )
    count = max((at + 1 for at, name in enumerate(index_names) if name in given_names), default=1)
    for name in index_names[:count]:
        if name not in given_names:
            raise NotFoundError(
                f"The given keys have no column {name}; their columns are "
                f"{', '.join(names) or 'none'}.",
                kind=ErrorKind.COLUMN_NOT_FOUND,
                hint=f"Name the columns of the keys like the columns of {table}.",
            )
        if given_names.count(name) > 1:
            raise InvalidInputError(
                f"The given keys have the column {name} twice.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Remove or rename one of these columns.",
            )
    return list(columns[:count])


class GivenKeys:
    """Keys as Arrow arrays, which must fit the memory of one process.

    Args:
        keys: A table or record batch with columns named like the index's columns, or the values of
            its first column as an array or a list. Also any object with the Arrow C interface, such
            as a Polars or pandas frame. Or the path of a Parquet file, or of a CSV file with a
            header line, in which other columns are ignored.
        columns: The index's columns as a version of the table has them.
        table: Name of the table.
    """

    def __init__(self, keys: Any, columns: Sequence[Column], table: str) -> None:
        table_of_keys = _as_table(keys, columns)
        self.columns = key_columns_of(table_of_keys.column_names, columns, table)
        self.key_types = [
            KeyType(kind=column.kind, scale=column.scale, precision=column.precision)
            for column in self.columns
        ]
        self.is_prefix = len(self.columns) < len(columns)
        folded = {name.lower(): name for name in table_of_keys.column_names}
        schema = arrow_schema({(str(i),): column for i, column in enumerate(self.columns)})
        self.values = [
            _as_type(
                table_of_keys.column(folded[".".join(column.path).lower()]), field.type, column
            )
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
            f"The given keys cannot be read as values of {first}, which has type "
            f"{columns[0].type}: {error}",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give values of the column's type.",
        ) from error
    raise InvalidInputError(
        f"A {type(keys).__name__} cannot be read as keys.",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint="Give an Arrow array or table, a list, or a Polars or pandas frame.",
    )


def _in_file(path: str, columns: Sequence[Column]) -> pa.Table:
    """Return the index's columns of a file, read with the types of the table's columns."""
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
            hint="Give a Parquet file or a CSV file. The name of a CSV file must end in .csv. Its "
            "first line must be a header.",
        ) from error


def _as_type(values: pa.ChunkedArray, target: pa.DataType, column: Column) -> pa.ChunkedArray:
    """Convert values to the form that is encoded, if the conversion loses nothing."""
    given_type = values.type
    if pa.types.is_dictionary(given_type):
        values = values.cast(given_type.value_type)
        given_type = given_type.value_type
    if given_type == target or not _alike(given_type, target):
        return _encodable(values, column)
    try:
        return values.cast(target)
    except pa.ArrowException as error:
        raise _other_type(given_type, column) from error


def _alike(given_type: pa.DataType, target: pa.DataType) -> bool:
    """Return whether values of one type may be cast to another type that compares alike."""
    t = pa.types
    if t.is_null(given_type):
        return True
    if t.is_timestamp(given_type) and t.is_timestamp(target):
        return (given_type.tz is None) == (target.tz is None)
    return bool(
        (t.is_integer(given_type) and t.is_integer(target))
        or (t.is_decimal(given_type) and t.is_decimal(target))
        or (_is_text(given_type) and _is_text(target))
        or (_is_bytes(given_type) and _is_bytes(target))
    )


def _is_text(kind: pa.DataType) -> bool:
    t = pa.types
    return bool(t.is_string(kind) or t.is_large_string(kind) or t.is_string_view(kind))


def _is_bytes(kind: pa.DataType) -> bool:
    t = pa.types
    return bool(t.is_binary(kind) or t.is_large_binary(kind) or t.is_binary_view(kind))


def _encodable(values: pa.ChunkedArray, column: Column) -> pa.ChunkedArray:
    key_type = KeyType(kind=column.kind, scale=column.scale, precision=column.precision)
    try:
        encode_keys(key_type, values.slice(0, 0))
    except UnsupportedError as error:
        raise _other_type(values.type, column) from error
    return values


def _other_type(given_type: pa.DataType, column: Column) -> InvalidInputError:
    return InvalidInputError(
        f"The given keys have type {given_type}, but {'.'.join(column.path)} has type "
        f"{column.type}.",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint="Cast the keys to the column's type first.",
    )
