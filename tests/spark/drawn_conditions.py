"""Drawn conditions on a table with indexes, whose rows must be those of the table without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lakesieve as ls

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession


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


def check_conditions(spark: SparkSession, relation: str, conditions: Sequence[str]) -> int:
    """Compare the rows of conditions with and without skipping. Each row has another number k.

    Returns:
        How many of the queries have skipped files.
    """
    ls.disable(spark)
    # indexes do not change what a projection computes
    truths = [f"coalesce({text}, false) AS c{at}" for at, text in enumerate(conditions)]
    rows = spark.sql(f"SELECT k, {', '.join(truths)} FROM {relation}").collect()
    ls.enable(spark)
    skipped = 0
    try:
        for at, text in enumerate(conditions):
            found = spark.sql(f"SELECT k FROM {relation} WHERE {text}").collect()
            expected = sorted(row.k for row in rows if row[f"c{at}"])
            assert sorted(row.k for row in found) == expected, text
            skipped += any(scan.files_read < scan.files_total for scan in ls.last_pruning(spark))
    finally:
        ls.disable(spark)
    return skipped
