"""Key columns of a frame that the user gives, checked against those of a table."""

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

    from lakesieve.tables import Column


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenKey:
    """A key column of a frame.

    Args:
        name: Its name in the frame.
        type: Its type as Spark writes it.
        key_type: What its values are as keys.
    """

    name: str
    type: str
    key_type: KeyType


def given_keys(keys: DataFrame, columns: Sequence[Column], table: str) -> list[GivenKey]:
    """Find columns of a table in a frame by name, whose values compare like the table's.

    Raises:
        NotFoundError: The frame lacks one.
        InvalidInputError: One is of another type, or there more than once.
    """
    return [_given(keys, column, table) for column in columns]


def _given(keys: DataFrame, column: Column, table: str) -> GivenKey:
    wanted = ".".join(column.path)
    fields = [field for field in keys.schema.fields if field.name.lower() == wanted.lower()]
    if not fields:
        raise NotFoundError(
            f"The given frame has no column {wanted}; it has {', '.join(keys.columns) or 'none'}.",
            kind=ErrorKind.COLUMN_NOT_FOUND,
            hint=f"Name its columns like those of {table}.",
        )
    if len(fields) > 1:
        raise InvalidInputError(
            f"The given frame has the column {wanted} twice.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Leave one of them out, or rename it.",
        )
    found = _key_type(fields[0].dataType)
    if found is None or (found.kind, found.scale) != (column.kind, column.scale):
        raise InvalidInputError(
            f"The given column {fields[0].name} is of type {fields[0].dataType.simpleString()}, "
            f"{wanted} of {table} of type {column.type}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Cast it to the table's type first.",
        )
    return GivenKey(name=fields[0].name, type=fields[0].dataType.simpleString(), key_type=found)


def _key_type(found: Any) -> KeyType | None:
    if found.typeName() == "decimal":
        return KeyType(kind="decimal", scale=found.scale, precision=found.precision)
    kind = SPARK_KINDS.get(found.typeName())
    if kind is None:
        return None
    if found.simpleString().startswith("string collate"):
        raise UnsupportedError(
            f"Values of the type {found.simpleString()} do not compare by their bytes.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Cast the column to string first.",
        )
    return KeyType(kind=kind)


_WIDENED = (("byte", "short", "integer", "long"), ("float", "double"))


def given_rows(
    rows: DataFrame, target: DataFrame, names: Sequence[str] | None, table: str
) -> DataFrame:
    """Columns of a frame by the names, in the order and of the types of a table's.

    Raises:
        NotFoundError: The frame lacks one.
        InvalidInputError: A type that loses something, or a column that the table has not.
    """
    from pyspark.sql import functions as F

    fields = [f for f in target.schema.fields if names is None or f.name in names]
    found = {field.name.lower(): field for field in rows.schema.fields}
    missing = [field.name for field in fields if field.name.lower() not in found]
    if missing:
        raise NotFoundError(
            f"The given frame has no column {', '.join(missing)}; "
            f"it has {', '.join(rows.columns) or 'none'}.",
            kind=ErrorKind.COLUMN_NOT_FOUND,
            hint=f"Give all columns of {table}." if names is None else "Give the key columns.",
        )
    known = {field.name.lower() for field in fields}
    unknown = [name for name in rows.columns if name.lower() not in known]
    if unknown and names is None:
        raise InvalidInputError(
            f"{table} has no column {', '.join(unknown)}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Leave it out of the given frame, or add it to the table first.",
        )
    taken = []
    names_given = [name.lower() for name in rows.columns]
    for field in fields:
        if names_given.count(field.name.lower()) > 1:
            raise InvalidInputError(
                f"The given frame has the column {field.name} twice.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Leave one of them out, or rename it.",
            )
        given_field = found[field.name.lower()]
        if not _fits(given_field.dataType, field.dataType):
            raise InvalidInputError(
                f"The given column {given_field.name} is of type "
                f"{given_field.dataType.simpleString()}, that of "
                f"{table} of type {field.dataType.simpleString()}.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Cast it to the table's type first.",
            )
        taken.append(F.col(quoted(given_field.name)).cast(field.dataType).alias(field.name))
    return rows.select(*taken)


def rows_in(path: str, spark: SparkSession, target: DataFrame) -> DataFrame:
    """Rows of a file: Parquet, or CSV with a header line, read as the types of a table's columns.

    Args:
        path: The file; what ends in ``.csv`` is CSV.
        spark: The session.
        target: The table.

    Raises:
        NotFoundError: It cannot be read.
    """
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StringType, StructField, StructType

    try:
        if not path.lower().endswith(".csv"):
            return spark.read.parquet(path)
        types = {field.name.lower(): field.dataType for field in target.schema.fields}
        named = spark.read.option("header", value=True).csv(path).columns
        fields = [StructField(name, types.get(name.lower(), StringType())) for name in named]
        # a value of another type is an error, and no null
        reader = spark.read.option("header", value=True).option("mode", "FAILFAST")
        return reader.schema(StructType(fields)).csv(path, enforceSchema=False)
    except PySparkException as error:
        raise NotFoundError(
            f"{path} cannot be read: {str(error).splitlines()[0]}",
            kind=ErrorKind.OBJECT_NOT_FOUND,
            hint="Give a Parquet file, or a CSV file with a header line whose name ends in .csv.",
        ) from error


def _fits(given: Any, wanted: Any) -> bool:
    """Whether all values of a type are values of another."""
    if given.simpleString() == wanted.simpleString() or given.typeName() == "void":
        return True
    if given.typeName() == wanted.typeName() == "decimal":
        return bool(given.scale == wanted.scale and given.precision <= wanted.precision)
    for types in _WIDENED:
        if given.typeName() in types and wanted.typeName() in types:
            return types.index(given.typeName()) <= types.index(wanted.typeName())
    return False
