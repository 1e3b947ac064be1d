"""What the tests of skipping in Spark have in common: queries over all keys, and what each read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.skipping import CONDITIONS, FILES, KEYS, SPARK_ROWS

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["JOINS", "KEPT_BY_SPARK", "NAMES", "checked", "frame_of", "query", "value"]

NAMES = tuple(name for name, key in KEYS.items() if key.spark)
"""The columns that Spark can write."""

_CASTS = {
    "small": "INT",
    "large": "BIGINT",
    "text": "STRING",
    "day": "DATE",
    "moment": "TIMESTAMP",
    "plain": "TIMESTAMP_NTZ",
    "money": "DECIMAL(10, 2)",
    "wide": "DECIMAL(38, 2)",
    "real": "DOUBLE",
    "single": "FLOAT",
    "data": "BINARY",
}
JOINS = {
    "join": "SELECT t.* FROM {t} t JOIN (VALUES ({22}), ({25})) AS q(v) ON t.{k} = q.v",
    "semi": "SELECT * FROM {t} WHERE {k} IN (SELECT v FROM VALUES ({22}), ({25}) AS q(v))",
    "left": "SELECT t.* FROM (VALUES ({22}), ({25})) AS q(v) LEFT JOIN {t} t ON t.{k} = q.v",
}
"""Joins that need the rows 22 and 25."""

_LONG = "keys of joins are words of 64 bits, text or bytes"
KEPT_BY_SPARK: Mapping[tuple[str, str], str] = {
    **{(form, "wide"): _LONG for form in (*JOINS, "merge", "merge two")},
}
"""Forms and columns whose files are all read, with the reason."""


def frame_of(spark: SparkSession, names: Sequence[str] = NAMES) -> DataFrame:
    """The rows of the tables, a file to each partition.

    Args:
        spark: The session.
        names: The columns.
    """
    columns = ", ".join(f"{KEYS[name].spark} AS {name}" for name in names)
    return spark.sql(f"SELECT {columns} FROM ({SPARK_ROWS})")


def value(name: str, number: int) -> str:
    """The value of a column in a row as SQL, of the column's own type.

    Args:
        name: The column.
        number: The row.
    """
    key = KEYS[name]
    return f"CAST({key.sql(key.value(number), 'spark')} AS {_CASTS[name]})"


def query(form: str, name: str, table: str) -> str:
    """A query of one form.

    Args:
        form: The form of its condition, or of its join.
        name: The column.
        table: The table.
    """
    if form in JOINS:
        text = JOINS[form].replace("{t}", table).replace("{k}", name)
        for number in (22, 25):
            text = text.replace(f"{{{number}}}", value(name, number))
        return text
    if form == "cast":
        text = f"CAST({value(name, 25)} AS STRING)"
        return f"SELECT * FROM {table} WHERE {name} = CAST({text} AS {_CASTS[name]})"
    return f"SELECT * FROM {table} WHERE {CONDITIONS[form].text(name, 'spark')}"


def _forms(names: Sequence[str]) -> Iterator[tuple[str, list[str], int]]:
    for form, condition in CONDITIONS.items():
        yield form, [name for name in names if name in condition.keys], condition.most
    yield "cast", [name for name in names if name in _CASTS], 1
    for form in JOINS:
        yield form, [name for name in names if name != "flag"], 2


def checked(
    spark: SparkSession,
    table: str,
    names: Sequence[str] = NAMES,
    *,
    forms: Sequence[str] | None = None,
) -> dict[str, int]:
    """Plan every query over a table; returns the cells that read other numbers of files.

    Args:
        spark: The session, with skipping on.
        table: The table.
        names: Its columns.
        forms: The forms of conditions and joins; ``None`` is all.
    """
    wrong = {}
    for form, keys, most in _forms(names):
        if forms is not None and form not in forms:
            continue
        # one plan: a scan of it for each column
        scans = " UNION ALL ".join(f"({query(form, name, table)})" for name in keys)
        spark.sql(scans)._jdf.queryExecution().executedPlan()
        pruned = ls.last_pruning(spark)
        assert len(pruned) == len(keys), form
        for name, scan in zip(keys, pruned, strict=True):
            all_read = (form, name) in KEPT_BY_SPARK
            if scan.files_read > most if not all_read else scan.files_read < FILES:
                wrong[f"{form} {name}"] = scan.files_read
    return wrong
