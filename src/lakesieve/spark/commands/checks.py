"""Check key constraints: unique keys, and keys that refer to rows of another table."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from lakesieve.defaults import SHOWN_KEYS
from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.index.definition import column_names, key_columns
from lakesieve.index.key_results import KeyCheck
from lakesieve.spark.commands.duplicates import duplicates
from lakesieve.spark.commands.held_keys import HeldKeys
from lakesieve.spark.commands.key_rows import without_nulls
from lakesieve.spark.commands.keys import given_keys
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables import open_table
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.versions.cached_rows import cache_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.tables import Column


def check_unique(
    table: str,
    on: str | Sequence[str],
    *,
    spark: SparkSession,
    version: str | int | None = None,
    location: str | None = None,
    limit: int = SHOWN_KEYS,
) -> KeyCheck:
    """Check that no key is in more than one row.

    :func:`duplicates` lists the keys that violate this.

    Args:
        table: As for :func:`lakesieve.create_index`.
        on: The key column or columns. As in a UNIQUE constraint, keys with a null are left out.
        spark: The session.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        location: A further root to search for indexes.
        limit: How many violations are listed.

    Raises:
        NotFoundError: The table, a column or the version does not exist.
        InvalidInputError: There are too few or too many columns, or one is named twice.
        UnsupportedError: A column cannot be a key, or Spark cannot read the table.

    Examples:
        >>> ls.check_unique("lake.shop.orders", "tenant", spark=spark).violations
        3
    """
    started = time.perf_counter()
    repeated = duplicates(table, on, spark=spark, version=version, location=location)
    return KeyCheck(
        table=table,
        on=repeated.on,
        parent=None,
        parent_columns=(),
        version=repeated.version,
        violations=repeated.count,
        examples=_texts(repeated.keys.drop("rows"), limit),
        files_read=repeated.files_read,
        files=repeated.files,
        index=repeated.index,
        seconds=time.perf_counter() - started,
    )


def check_references(
    child: DataFrame | str,
    columns: str | Sequence[str],
    parent: str,
    parent_columns: str | Sequence[str],
    *,
    spark: SparkSession,
    location: str | None = None,
    limit: int = SHOWN_KEYS,
) -> KeyCheck:
    """Check that all keys of a table are keys of another, as a FOREIGN KEY constraint would.

    Only the key columns of the parent are read, in the files that may hold the child's keys.

    Args:
        child: A table, as for :func:`lakesieve.create_index`, or a frame to append.
        columns: The column or columns of the child. Rows with a null in one of them are left out.
        parent: The table that should have the keys.
        parent_columns: The column or columns of the parent, in the same order and of the same
            types.
        spark: The session.
        location: A further root to search for indexes of the parent.
        limit: How many missing keys are listed.

    Raises:
        NotFoundError: A table or a column does not exist.
        InvalidInputError: The columns have other types or another number than the parent's.
        UnsupportedError: A column cannot be a key, or Spark cannot read a table.

    Examples:
        >>> keys = spark.sql("SELECT 99999L AS customer")
        >>> parent = "lake.shop.orders"
        >>> ls.check_references(keys, "customer", parent, "customer", spark=spark).examples
        (('99999',),)
    """
    started = time.perf_counter()
    columns, parent_columns = _as_many(columns, parent_columns)
    opened = open_table(spark, parent)
    version = opened.reader.version()
    parent_keys = key_columns(opened.reader, version, parent_columns)
    keys, names = _keys_of(child, columns, parent_keys, spark)
    given_keys(keys, parent_keys, parent)
    lookup = HeldKeys(opened, parent_keys, spark, location)
    distinct = cache_rows(without_nulls(keys).distinct(), shuffled=True)
    with installed_rule(spark).skipping(location, storage_options(spark)):
        orphans = lookup.without(distinct, names, version)
        examples = _texts(orphans.rows, limit)
    for one in {id(distinct): distinct, id(orphans): orphans}.values():
        one.release()
    return KeyCheck(
        table=child if isinstance(child, str) else "the given frame",
        on=tuple(columns),
        parent=parent,
        parent_columns=tuple(names),
        version=version.id,
        violations=orphans.count,
        examples=examples,
        files_read=lookup.files_read,
        files=0 if version.id is None else opened.reader.live_files(version).num_rows,
        index=lookup.index,
        seconds=time.perf_counter() - started,
    )


def _as_many(
    columns: str | Sequence[str], parent_columns: str | Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of a child and of its parent. Their number must be the same."""
    mine, theirs = column_names(columns), column_names(parent_columns)
    if len(mine) != len(theirs):
        raise InvalidInputError(
            f"{', '.join(mine)} and {', '.join(theirs)} differ in their number of columns.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give one column of the parent for each column of the child.",
        )
    return mine, theirs


def _keys_of(
    child: DataFrame | str, columns: Sequence[str], parent: Sequence[Column], spark: SparkSession
) -> tuple[DataFrame, list[str]]:
    """Return the keys of a child, named like the parent's columns, and these names."""
    from pyspark.sql import functions as F

    names = [".".join(column.path) for column in parent]
    if isinstance(child, str):
        opened = open_table(spark, child)
        version = opened.reader.version()
        rows = opened.rows(version)
        paths = [column.path for column in key_columns(opened.reader, version, columns)]
    else:
        rows, paths = child, [(name,) for name in columns]
    chosen = (F.col(quoted(*p)).alias(name) for p, name in zip(paths, names, strict=True))
    return rows.select(*chosen), names


def _texts(keys: DataFrame, limit: int) -> tuple[tuple[str, ...], ...]:
    rows = keys.limit(limit).collect() if limit else []
    return tuple(tuple(str(value) for value in row) for row in rows)
