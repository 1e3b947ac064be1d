"""A DataFrame that runs again after files of its small side have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

pytestmark = pytest.mark.usefixtures("by_default")

FIRST, SECOND = (4726, 9452, -1), (14178, -2)
CASES: dict[str, Callable[[DataFrame, DataFrame], DataFrame]] = {
    "inner": lambda big, small: big.join(small, "l"),
    "sorted": lambda big, small: big.hint("merge").join(small, "l"),
    "preserved": lambda big, small: small.join(big, "l", "left"),
    "semi": lambda big, small: big.join(small, "l", "left_semi"),
    "random": lambda big, small: big.join(small.withColumn("n", F.col("n") + F.rand(1) * 0), "l"),
    "twice": lambda big, small: big.join(small, "l").select("l").union(small.select("l")),
}


def _write(folder: Path, keys: tuple[int, ...]) -> None:
    folder.mkdir(exist_ok=True)
    table = pa.table({"l": pa.array(keys, pa.int64()), "n": pa.array(keys, pa.float64())})
    pq.write_table(table, folder / "a.parquet")


def _keys(frame: DataFrame) -> list[int]:
    return sorted(row["l"] for row in frame.collect())


@pytest.mark.in_time("inner", "twice", "random")
@pytest.mark.parametrize("case", CASES)
def test_the_answer_is_one_that_spark_gives(
    spark: SparkSession, big: str, tmp_path: Path, case: str
) -> None:
    """A second run joins the same rows, as after a broadcast; a derived frame joins new rows."""
    expected: dict[bool, list[list[int]]] = {}
    for skipping in (False, True):
        (ls.enable if skipping else ls.disable)(spark)
        try:
            _write(tmp_path / "small", FIRST)
            rows = spark.table(big).select("l", "id")
            frame = CASES[case](rows, spark.read.parquet(str(tmp_path / "small"))).select("l")
            first = _keys(frame)
            if skipping:
                pruned = [p for p in ls.last_pruning(spark) if p.table == big]
                assert pruned[0].files_read < pruned[0].files_total
            _write(tmp_path / "small", SECOND)
            again, derived, count = _keys(frame), _keys(frame.where("true")), frame.count()
        finally:
            ls.disable(spark)
        assert count == len(derived)
        expected[skipping] = [first, again, derived]

    # what Spark reads again when the small side is the one that is not broadcast
    fresh = expected[False][2]
    assert expected[True][0] == expected[False][0]
    assert expected[True][2] == fresh
    assert expected[True][1] in ([expected[False][1]] if case == "twice" else [expected[True][0]])
    assert expected[False][1] in (expected[True][1], fresh)
    assert expected[True][0] != fresh
