"""Whether queries with skipping on find the rows that they must, many of them in one statement."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests.interpreted import INTERPRETED
from tests.kit.reports import internal_errors

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HASH = "xxhash64(id, s, d, t, m) % 1000"


@contextmanager
def interpreted(spark: Any) -> Iterator[None]:
    """Queries run without code generation: many small ones would take longer to compile."""
    before = {name: spark.conf.get(name) for name in INTERPRETED}
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@contextmanager
def views_of(spark: Any, relations: Sequence[str]) -> Iterator[list[str]]:
    """Views of tables and their versions, each resolved only once."""
    views = [f"lakesieve_seen_{at}" for at in range(len(set(relations)))]
    for view, relation in zip(views, dict.fromkeys(relations), strict=True):
        spark.sql(f"SELECT * FROM {relation}").createOrReplaceTempView(view)
    try:
        yield views
    finally:
        for view in views:
            spark.catalog.dropTempView(view)


def check_queries(
    spark: Any, queries: Sequence[tuple[str, str]], *, hashed: str = HASH, summed: bool = False
) -> tuple[int, int]:
    """Check that each of many queries finds the rows for which its predicate is true.

    They run as one statement. One scan of each relation, without a filter, shows the right rows.
    If the statement finds others, it runs again with skipping off: a format may lose rows itself.

    Args:
        spark: The session.
        queries: A FROM clause and a predicate each.
        hashed: What is compared of each row, besides its ``id``.
        summed: Whether only counts and sums are compared. Spark merges such scans of one table.

    Returns:
        Data files before and after, of all queries.
    """
    columns = "count(*), sum(id), sum(h)" if summed else "id, h"
    query = " UNION ALL ".join(
        f"SELECT {at}, {columns} FROM (SELECT *, {hashed} AS h FROM {relation}) WHERE {condition}"
        for at, (relation, condition) in enumerate(queries)
    )
    with interpreted(spark):
        ls.enable(spark)
        try:
            actual = _rows(spark, query)
            pruned = ls.last_pruning(spark)
        finally:
            ls.disable(spark)
        if actual != sorted(_true_rows(spark, queries, hashed, summed=summed), key=repr):
            assert actual == _rows(spark, query), query
    assert internal_errors(pruned) == [], query
    return sum(p.files_total for p in pruned), sum(p.files_read for p in pruned)


def _rows(spark: Any, query: str) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in spark.sql(query).collect()), key=repr)


def _true_rows(
    spark: Any, queries: Sequence[tuple[str, str]], hashed: str, *, summed: bool
) -> Iterator[tuple[Any, ...]]:
    by_relation: dict[str, dict[int, str]] = {}
    for at, (relation, condition) in enumerate(queries):
        by_relation.setdefault(relation, {})[at] = condition
    for relation, conditions in by_relation.items():
        for at, rows in _flagged(spark, relation, conditions, hashed).items():
            if summed:
                ids, hashes = ([row[n] for row in rows] for n in range(2))
                yield (at, len(rows), sum(ids) if rows else None, sum(hashes) if rows else None)
            else:
                yield from ((at, *row) for row in rows)


def _flagged(
    spark: Any, relation: str, conditions: Mapping[int, str], hashed: str
) -> dict[int, list[tuple[int, int]]]:
    """``id`` and hash of the rows of a relation for which each predicate is true."""
    flags = ", ".join(f"({condition})" for condition in conditions.values())
    rows = spark.sql(f"SELECT id, {hashed}, {flags} FROM {relation}").collect()
    return {
        at: [(row[0], row[1]) for row in rows if row[2 + number]]
        for number, at in enumerate(conditions)
    }
