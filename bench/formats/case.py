"""The table that every format holds, and the questions about it."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["KINDS", "Case", "questions"]

KINDS = ("point", "range", "second", "list")
_SAME = 4
_LISTED = 1000
_IN_RANGE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table of a unique key ``k`` and a second column ``s``, four rows a value, both in no order.

    Args:
        rows: Its rows.
        files: Its data files, each with as many rows.
    """

    rows: int
    files: int

    def frame(self, spark: SparkSession) -> DataFrame:
        """All rows, a partition a file."""
        return self._rows(spark, 0, self.rows, self.files)

    def more(self, spark: SparkSession) -> DataFrame:
        """Rows that come later, as many as one file has."""
        return self._rows(spark, self.rows, self.rows + max(1, self.rows // self.files), 1)

    def _rows(self, spark: SparkSession, first: int, end: int, files: int) -> DataFrame:
        values = max(1, self.rows // _SAME)
        return spark.range(first, end, 1, files).selectExpr(
            "xxhash64(id) AS k",
            f"xxhash64(id % {values}, 7) AS s",
            "id / 7D AS amount",
            "date_add(DATE'2026-01-01', CAST(id % 365 AS INT)) AS day",
            "substring(md5(CAST(id AS STRING)), 1, 16) AS note",
        )


def questions(spark: SparkSession, case: Case, count: int) -> dict[str, Sequence[str]]:
    """Conditions of each kind, on values that are there: each way answers each once.

    Args:
        spark: The session.
        case: The table.
        count: How many of a kind.
    """
    ids = [(2 * i + 1) * case.rows // (2 * count) for i in range(count)]
    values = max(1, case.rows // _SAME)
    result = spark.createDataFrame([(i,) for i in ids], "id BIGINT")
    found = result.selectExpr("xxhash64(id) AS k", f"xxhash64(id % {values}, 7) AS s").collect()
    width = _IN_RANGE * 2**64 // case.rows
    drawn = random.Random(7)
    listed = [[drawn.randrange(case.rows) for _ in range(_LISTED)] for _ in range(count)]
    hashes = spark.createDataFrame(
        [(n, i) for n, own in enumerate(listed) for i in own], "n INT, id BIGINT"
    )
    lists = hashes.groupBy("n").agg(
        F.expr("concat_ws(', ', collect_list(xxhash64(id)))").alias("keys")
    )
    return {
        "point": [f"k = {row.k}" for row in found],
        "range": [f"k BETWEEN {row.k} AND {min(row.k + width, 2**63 - 1)}" for row in found],
        "second": [f"s = {row.s}" for row in found],
        "list": [f"k IN ({row.keys})" for row in lists.collect()],
    }
