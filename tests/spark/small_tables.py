"""Small tables with few distinct values, and random changes to the tables and their indexes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyspark
from tests.depth import is_soak
from tests.spark.drivers import IcebergDriver

import lakesieve as ls

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession
    from tests.spark.drivers import OpenDriver

__all__ = [
    "COLUMNS",
    "COMPOSITE",
    "FOLDED_WORD",
    "FORMATS",
    "branches",
    "check_drawn_queries",
    "drawn_rows",
    "steps_of",
]

FORMATS = ["iceberg", "delta", "parquet"]
FOLDED_WORD = "lower(word)" if pyspark.__version__ < "4" else "word COLLATE UTF8_LCASE"
"""A value by which words compare without regard to case. Collations are new in Spark 4."""

COLUMNS = {
    "whole": ("INT", ["NULL", "-2147483648", "0", "1", "2", "3", "7", "2147483647"]),
    "real": ("DOUBLE", ["NULL", "0D", "-0D", "1.5D", "double('NaN')", "double('-Infinity')"]),
    "word": ("STRING", ["NULL", "''", "'a'", "'A'", "'ä'", "'aa'", "'日本'", "'zz'"]),
    "day": ("DATE", ["NULL", "DATE'1970-01-01'", "DATE'2020-02-29'", "DATE'9999-12-31'"]),
    "money": ("DECIMAL(10, 2)", ["NULL", "0", "1.25", "-98765432.10"]),
    "inner.place": ("STRING", ["NULL", "'a'", "'b'", "'c'"]),
}

COMPOSITE = (
    ("inner.place", "whole"),
    ("word", "day", "real"),
    ("whole", "word", "money"),
    ("day", "inner.place", "id"),
)
"""The columns of the indexes of several columns."""


def drawn_rows(spark: SparkSession, drawn: random.Random, start: int, files: int) -> DataFrame:
    """Draw rows with distinct ids, some files of them with other values than the rest."""
    parts = []
    for at in range(files):
        few = {name: drawn.sample(values, 2) for name, (_, values) in COLUMNS.items()}
        rows = []
        # with more than 128 keys, a segment does not list all of them
        sizes = [1, 3, 12, 50] if is_soak() else [1, 3, 12]
        for row in range(drawn.choice(sizes)):
            values = [str(start + 100 * at + row)]
            for name, (kind, _) in COLUMNS.items():
                value = f"CAST({drawn.choice(few[name])} AS {kind})"
                values.append(f"named_struct('place', {value})" if "." in name else value)
            rows.append(f"({', '.join(values)})")
        names = ", ".join(name.partition(".")[0] for name in ("id", *COLUMNS))
        parts.append(spark.sql(f"SELECT * FROM VALUES {', '.join(rows)} AS t({names})").coalesce(1))
    frame = parts[0]
    for part in parts[1:]:
        frame = frame.union(part)
    return frame


def steps_of(
    spark: SparkSession, driver: OpenDriver, drawn: random.Random
) -> list[Callable[[], object]]:
    """Return changes of a table and of its indexes, one after the other."""

    def compact() -> None:
        for info in ls.list_indexes(driver.name, spark=spark):
            ls.open_index(driver.name, info.name, spark=spark).compact()

    def refresh() -> None:
        ls.refresh_indexes(driver.name, spark=spark)

    def delete() -> None:
        driver.delete(f"id % {drawn.choice([2, 5, 11])} = 1")

    steps: list[Callable[[], object]] = [
        lambda: None,
        lambda: driver.append(drawn_rows(spark, drawn, 10_000, 2)),
        refresh,
        lambda: driver.append(drawn_rows(spark, drawn, 20_000, 1)),
    ]
    if is_soak():
        # the index is merged while the files of its parts are live, and after they are replaced
        steps += [refresh, compact, driver.compact, refresh, compact]
        steps += [lambda: driver.append(drawn_rows(spark, drawn, 40_000, 2)), refresh, compact]
    if isinstance(driver, IcebergDriver):
        steps += _steps_of_branches(spark, driver, drawn)
    if driver.versions():
        steps.append(delete)
        if is_soak():
            steps += [refresh, compact, delete]
    return steps


def _steps_of_branches(
    spark: SparkSession, driver: IcebergDriver, drawn: random.Random
) -> list[Callable[[], object]]:
    """Return steps that make a branch with rows of its own; in a soak, two branches and a tag."""
    name = driver.name

    def append(branch: str, start: int) -> None:
        drawn_rows(spark, drawn, start, 1).writeTo(f"{name}.branch_{branch}").append()

    steps: list[Callable[[], object]] = [
        lambda: spark.sql(f"ALTER TABLE {name} CREATE BRANCH side"),
        lambda: append("side", 30_000),
    ]
    if is_soak():
        first = driver.versions()[0]
        steps += [
            lambda: spark.sql(f"ALTER TABLE {name} CREATE BRANCH other AS OF VERSION {first}"),
            lambda: append("other", 50_000),
            lambda: spark.sql(f"DELETE FROM {name}.branch_side WHERE id % 7 < 3"),
            lambda: spark.sql(f"ALTER TABLE {name} CREATE TAG kept"),
        ]
    return steps


def branches(spark: SparkSession, driver: OpenDriver) -> list[str]:
    """Return the branches of a table besides the main one, as SQL writes them."""
    if not isinstance(driver, IcebergDriver):
        return []
    rows = spark.sql(f"SELECT name FROM {driver.name}.refs WHERE name <> 'main'").collect()
    return [f"'{row[0]}'" for row in rows]


def check_drawn_queries(
    spark: SparkSession,
    driver: OpenDriver,
    drawn: random.Random,
    query: Callable[[str], str],
    *,
    count: int,
    surely_used: str,
    is_used: Callable[[ls.TablePruning], bool],
    in_order: bool = False,
) -> None:
    """Run drawn queries on an indexed table while it changes. Skipping changes no row.

    Args:
        spark: The session.
        driver: The table.
        drawn: Draws the changes and versions.
        query: Draws a query of a relation.
        count: How many queries to draw after each change.
        surely_used: A query of ``{t}`` that skips files. It takes the place of drawn queries until
            one of them has skipped files, too.
        is_used: Whether a scan is one that skipped files.
        in_order: Whether the order of the rows counts.
    """

    def rows(text: str) -> list[str]:
        found = [str(row) for row in spark.sql(text).collect()]
        return found if in_order else sorted(found)

    used = False
    for step in steps_of(spark, driver, drawn):
        step()
        versions = [None, None, None, *driver.versions(), *branches(spark, driver)]
        for _ in range(count):
            text = query(driver.relation(drawn.choice(versions)))
            if not used:
                text = surely_used.format(t=driver.relation())
            ls.disable(spark)
            expected = rows(text)
            ls.enable(spark)
            assert rows(text) == expected, text
            used = used or any(is_used(scan) for scan in ls.last_pruning(spark))
    ls.disable(spark)
    assert used
