"""Check the key columns of a user's frame against the columns of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError, UnsupportedError
from lakesieve.sieve import KeyType
from lakesieve.spark.tables.reading import quoted
from lakesieve.tables.struct_schema import SPARK_KINDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import DataType, StructField

    from lakesieve.tables import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenKey:
    """A key column of a frame.

    Args:
        name: Its name in the frame.
        type: Its Spark type, as text.
        key_type: The key type of its values.
    """

    name: str
    type: str
    key_type: KeyType


def given_keys(keys: DataFrame, columns: Sequence[Column], table: str) -> list[GivenKey]:
    """Find columns of a table in a frame by name. Their values must compare like the table's."""
    names = [".".join(column.path) for column in columns]
    fields = _fields_of(keys, names, f"Name the columns like those of {table}.")
    return [_given_key(*each, table) for each in zip(fields, columns, strict=True)]


def _given_key(field: StructField, column: Column, table: str) -> GivenKey:
    key_type, name = _key_type(field.dataType), field.dataType.simpleString()
    if key_type is None or (key_type.kind, key_type.scale) != (column.kind, column.scale):
        raise _other_type(field, f"but {'.'.join(column.path)} of {table} has type {column.type}")
    return GivenKey(name=field.name, type=name, key_type=key_type)


def _fields_of(rows: DataFrame, names: Sequence[str], hint: str) -> list[StructField]:
    """Return the columns of a frame with some names, regardless of case."""
    fields = {field.name.lower(): field for field in rows.schema.fields}
    missing = [name for name in names if name.lower() not in fields]
    if missing:
        raise NotFoundError(
            f"The given frame has no column {', '.join(missing)}; "
            f"its columns are {', '.join(rows.columns) or 'none'}.",
            kind=ErrorKind.COLUMN_NOT_FOUND,
            hint=hint,
        )
    frame_names = [name.lower() for name in rows.columns]
    for name in names:
        if frame_names.count(name.lower()) > 1:
            raise InvalidInputError(
                f"The given frame has the column {name} twice.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Remove or rename one of these columns.",
            )
    return [fields[name.lower()] for name in names]


def _other_type(field: StructField, wanted: str) -> InvalidInputError:
    return InvalidInputError(
        f"The given column {field.name} has type {field.dataType.simpleString()}, {wanted}.",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint="Cast the column to the table's type first.",
    )


def _key_type(data_type: DataType) -> KeyType | None:
    from pyspark.sql.types import DecimalType

    if isinstance(data_type, DecimalType):
        return KeyType(kind="decimal", scale=data_type.scale, precision=data_type.precision)
    kind = SPARK_KINDS.get(data_type.typeName())
    if kind is None:
        return None
    if data_type.simpleString().startswith("string collate"):
        raise UnsupportedError(
            f"Values of type {data_type.simpleString()} do not compare by their bytes.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Cast the column to string first.",
        )
    return KeyType(kind=kind)


_WIDENED = (("byte", "short", "integer", "long"), ("float", "double"))


def given_rows(
    rows: DataFrame, target: DataFrame, names: Sequence[str] | None, table: str
) -> DataFrame:
    """Return the columns of a frame by name, in the order and with the types of a table."""
    from pyspark.sql import functions as F

    target_fields = [f for f in target.schema.fields if names is None or f.name in names]
    hint = f"Give all columns of {table}." if names is None else "Give the key columns."
    frame_fields = _fields_of(rows, [field.name for field in target_fields], hint)
    target_names = {field.name.lower() for field in target_fields}
    unknown = [name for name in rows.columns if name.lower() not in target_names]
    if unknown and names is None:
        raise InvalidInputError(
            f"{table} has no column {', '.join(unknown)}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Remove the column from the given frame, or add it to the table first.",
        )
    for mine, theirs in zip(frame_fields, target_fields, strict=True):
        if not _fits(mine.dataType, theirs.dataType):
            raise _other_type(mine, f"but in {table} it has type {theirs.dataType.simpleString()}")
    return rows.select(
        *(
            F.col(quoted(mine.name)).cast(theirs.dataType).alias(theirs.name)
            for mine, theirs in zip(frame_fields, target_fields, strict=True)
        )
    )


def rows_in(path: str, spark: SparkSession, target: DataFrame) -> DataFrame:
    """Read a Parquet file, or a CSV file with a header, with the types of a table's columns."""
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StringType, StructField, StructType

    try:
        if not path.lower().endswith(".csv"):
            return spark.read.parquet(path)
        types = {field.name.lower(): field.dataType for field in target.schema.fields}
        named = spark.read.option("header", value=True).csv(path).columns
        fields = [StructField(name, types.get(name.lower(), StringType())) for name in named]
        # a value of another type must be an error, not a null
        reader = spark.read.option("header", value=True).option("mode", "FAILFAST")
        return reader.schema(StructType(fields)).csv(path, enforceSchema=False)
    except PySparkException as error:
        raise NotFoundError(
            f"{path} cannot be read: {str(error).splitlines()[0]}",
            kind=ErrorKind.OBJECT_NOT_FOUND,
            hint="Give a Parquet file, or a CSV file with a header line whose name ends in .csv.",
        ) from error


def _fits(given: Any, wanted: Any) -> bool:
    """Return whether all values of one type are also values of another."""
    if given.simpleString() == wanted.simpleString() or given.typeName() == "void":
        return True
    if given.typeName() == wanted.typeName() == "decimal":
        return bool(given.scale == wanted.scale and given.precision <= wanted.precision)
    for types in _WIDENED:
        if given.typeName() in types and wanted.typeName() in types:
            return types.index(given.typeName()) <= types.index(wanted.typeName())
    return False
