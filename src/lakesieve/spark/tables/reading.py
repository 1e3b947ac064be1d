"""Share code between the raw reads of different formats."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.spark.tables.expressions import expression_values
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.java_classes import java_array, java_class
from lakesieve.tables.struct_schema import READ_BY_DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from lakesieve.spark.tables.contract import RawRead
    from lakesieve.tables.contract import Column as KeyColumn

# so many paths are one text for Java
_AT_ONCE = 10_000
_NO_AUTHORITY = r"^([A-Za-z][A-Za-z0-9+.\-]*:)/([^/])"


def read_settings(spark: SparkSession) -> dict[str, str]:
    """Return how the session compares names and reads old times, like ``READ_BY_DEFAULT``."""
    names, more = java_array(spark, "java.lang.String", ()), java_class(spark, "java.util.HashMap")
    documents = own_class(spark, "folders.SchemaDocument")
    document = json.loads(documents.of(spark._jsparkSession, "{}", names, more()))
    return {name: str(document[name]) for name in READ_BY_DEFAULT}


def parts_of(call: Callable[..., Any], method: str, *arguments: Any) -> Iterator[str]:
    """Call a Java method until it returns an empty text, and yield the texts before."""
    return iter(lambda: str(call(method, *arguments)), "")


def lines_of(parts: Iterable[str]) -> pa.ChunkedArray:
    """Return the lines of texts, with a chunk for each text."""
    chunks = [pa.array(part.split("\n"), pa.string()) for part in parts]
    return pa.chunked_array(chunks, pa.string())


def encoded_paths(spark: SparkSession, paths: pa.ChunkedArray) -> Sequence[pa.ChunkedArray]:
    """Return paths as Spark's columns may spell them: percent-encoded.

    Args:
        spark: The session.
        paths: Paths as Hadoop's ``Path`` prints them.

    Returns:
        Two spellings of each path. After the scheme of a path without an authority, they have one
        slash or three.
    """
    encode = own_class(spark, "files.EncodedPaths").of
    parts = (paths.slice(at, _AT_ONCE) for at in range(0, len(paths), _AT_ONCE))
    chunks = (str(encode("\0".join(part.to_pylist()))).split("\0") for part in parts)
    encoded = pa.chunked_array(chunks, pa.string())
    return encoded, pc.replace_substring_regex(encoded, _NO_AUTHORITY, r"\1///\2")


def quoted(*parts: str) -> str:
    """Quote the name of a column, of a field of a struct or of a table for Spark."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def keys_of(rows: DataFrame, columns: Sequence[KeyColumn]) -> list[Column]:
    """Name the keys of rows ``key_0``, ``key_1`` and so on."""
    from pyspark.sql import functions as F

    values = (
        F.col(quoted(*column.path))
        if column.expression is None
        else expression_values(rows, column)
        for column in columns
    )
    return [value.alias(f"key_{at}") for at, value in enumerate(values)]


def raw_columns(rows: DataFrame, read: RawRead, position: str, file: Column) -> list[Column]:
    """Return the columns of a raw read.

    Args:
        rows: The rows of the table.
        read: What is wanted.
        position: The name of the engine's column for the number of a row in its file.
        file: The data file of each row.
    """
    from pyspark.sql import functions as F

    positions = [F.col(position).cast("bigint").alias("position")] if read.positions else []
    return [*keys_of(rows, read.columns), *positions, file.alias("file")]


def in_larger_tasks(rows: DataFrame, read: RawRead, total_bytes: int) -> DataFrame:
    """Read more files in each task than Spark would, which sizes tasks for whole rows."""
    return rows.coalesce(max(1, math.ceil(total_bytes / read.stride / read.split_bytes)))
