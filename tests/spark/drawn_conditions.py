"""Conditions on a table with indexes: their rows are right, and the files that they read few."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.depth import is_soak
from tests.spark.drivers import IcebergDriver

import lakesieve as ls

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession
    from tests.spark.drivers import OpenDriver


_IN_ONE_QUERY = 20


def drawn_condition(drawn: random.Random, leaf: Callable[[], str], depth_left: int = 3) -> str:
    """Draw a condition: leaves, and conditions on a column k, under AND, OR and NOT."""
    kind = drawn.choice(["leaf", "and", "or", "not"]) if depth_left else "leaf"
    if kind == "leaf":
        text = leaf()
        return drawn.choice([text, text, text, f"k < {drawn.randrange(60)}"])
    if kind == "not":
        return f"NOT {drawn_condition(drawn, leaf, depth_left - 1)}"
    parts = [drawn_condition(drawn, leaf, depth_left - 1) for _ in range(2)]
    return f"({f' {kind.upper()} '.join(parts)})"


def index_some(
    spark: SparkSession,
    driver: OpenDriver,
    drawn: random.Random,
    *,
    rows: Callable[[int], DataFrame],
    keys: Sequence[str],
    count: int,
) -> list[str]:
    """Write a table, index some of the keys, and append files that the indexes do not cover.

    ``rows`` returns rows whose numbers begin with a number.

    Returns:
        The indexed keys.
    """
    first = rows(0)
    driver.create(first)
    driver.append(first)
    some = drawn.sample(list(keys), count)
    names = [f"i{at}" for at in range(len(some))]
    blocks = drawn.choice([None, 2])
    ls.create_indexes(driver.name, some, spark=spark, names=names, rows_per_block=blocks)
    driver.append(rows(100))
    return some


def check_conditions(spark: SparkSession, relation: str, conditions: Sequence[str]) -> int:
    """Compare the rows of conditions with and without skipping. Each row has another number k.

    Returns:
        How many of the queries have skipped files.
    """
    ls.disable(spark)
    expected = _rows_of(spark, relation, conditions)
    ls.enable(spark)
    skipped = 0
    try:
        for text in conditions:
            found = _numbers(spark, relation, text)
            skipped += any(scan.files_read < scan.files_total for scan in ls.last_pruning(spark))
            if found != sorted(expected[text]):
                # Spark, Delta and Iceberg skip rows with bytes that are no UTF-8 themselves
                ls.disable(spark)
                assert found == _numbers(spark, relation, text), text
                ls.enable(spark)
    finally:
        ls.disable(spark)
    return skipped


def _numbers(spark: SparkSession, relation: str, condition: str) -> list[int]:
    return sorted(
        row.k for row in spark.sql(f"SELECT k FROM {relation} WHERE {condition}").collect()
    )


def _rows_of(spark: SparkSession, relation: str, conditions: Sequence[str]) -> dict[str, list[int]]:
    """Return the numbers of the rows of each condition. Indexes do not change a projection."""
    # some are drawn twice
    expected: dict[str, list[int]] = {text: [] for text in conditions}
    texts = list(expected)
    for start in range(0, len(texts), _IN_ONE_QUERY):
        some = texts[start : start + _IN_ONE_QUERY]
        truths = [f"coalesce({text}, false) AS c{at}" for at, text in enumerate(some)]
        for row in spark.sql(f"SELECT k, {', '.join(truths)} FROM {relation}").collect():
            for at, text in enumerate(some):
                if row[f"c{at}"]:
                    expected[text].append(row.k)
    return expected


def check_files(
    spark: SparkSession,
    driver: OpenDriver,
    forms: Mapping[str, tuple[str, int]],
    clause: str = "WHERE ",
) -> None:
    """Check how many files the forms of a condition read, in a session that skips files.

    Args:
        spark: The session.
        driver: The table.
        forms: By name, a condition and the number of files.
        clause: What stands between the table and the condition.
    """
    # the rule is the same for all formats
    step = 1 if is_soak() or isinstance(driver, IcebergDriver) else 4
    wrong = {}
    for name, (condition, files) in list(forms.items())[::step]:
        spark.sql(f"SELECT * FROM {driver.relation()} {clause}{condition}").collect()
        (scan,) = ls.last_pruning(spark)
        if scan.files_read != files:
            wrong[name] = (scan.files_read, [str(reason) for reason in scan.reasons])
    assert not wrong, wrong
