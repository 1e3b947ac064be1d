"""Share code between the raw reads of different formats."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.java_classes import java_array, java_class
from lakesieve.tables.struct_schema import READ_BY_DEFAULT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame, SparkSession

    from lakesieve.tables.contract import Column as KeyColumn


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


def hadoop_path(encoded: Column) -> Column:
    """Return a percent-encoded path as Hadoop's ``Path`` prints it."""
    from pyspark.sql import functions as F

    # in a path, a plus sign means itself
    decoded = F.url_decode(F.replace(encoded, F.lit("+"), F.lit("%2B")))
    return F.regexp_replace(decoded, r"^([A-Za-z][A-Za-z0-9+.\-]*):///", "$1:/")


def quoted(*parts: str) -> str:
    """Quote the name of a column, of a field of a struct or of a table for Spark."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in parts)


def raw_read(stride: int, selection: str) -> str:
    """Return the value of ``RAW_READ``, which tells the rule what a raw read wants."""
    return f"{stride} {selection}".strip()


def keys_of(columns: Sequence[KeyColumn]) -> list[Column]:
    """Name the key columns of rows ``key_0``, ``key_1`` and so on."""
    from pyspark.sql import functions as F

    return [F.col(quoted(*column.path)).alias(f"key_{at}") for at, column in enumerate(columns)]


def in_larger_tasks(rows: DataFrame, *, total_bytes: float, split_bytes: int) -> DataFrame:
    """Read more files in each task than Spark would, which sizes tasks for whole rows."""
    return rows.coalesce(max(1, math.ceil(total_bytes / split_bytes)))
