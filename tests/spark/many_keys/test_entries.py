"""Entries of maps that Spark itself would not write."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
from tests.depth import depth
from tests.spark.drawn_conditions import check_conditions, drawn_condition
from tests.spark.rows.compared import compared

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession


def _foreign_rows(drawn: random.Random, first: int, texts: Sequence[str]) -> pa.Table:
    """Rows that Spark would not write: maps with a key twice, and with -0.0 as a key."""
    numbers = (0.0, -0.0, 1.0, float("nan"))
    longs = [
        [(drawn.choice(texts), drawn.choice([1, 5, 9, None])) for _ in range(drawn.randrange(4))]
        for _ in range(4)
    ]
    doubles = [
        [(drawn.choice(numbers), drawn.choice([1, 5, 9, None])) for _ in range(drawn.randrange(4))]
        for _ in range(4)
    ]
    return pa.table(
        {
            "k": pa.array(range(first, first + 4), pa.int32()),
            "m": pa.array(longs, pa.map_(pa.string(), pa.int64())),
            "d": pa.array(doubles, pa.map_(pa.float64(), pa.int64())),
        }
    )


def test_keys_that_a_map_has_twice(spark: SparkSession, tmp_path: Path) -> None:
    """Whichever entry of a key Spark takes, its file is read."""
    drawn = random.Random("twice")
    folder = tmp_path / "twice"
    folder.mkdir()
    for number in range(12):
        texts = drawn.sample(["a", "b", "c", "d"], 2)
        pq.write_table(_foreign_rows(drawn, 4 * number, texts), folder / f"{number}.parquet")
    ls.create_indexes(f"parquet:{folder}", ["entries(m)", "entries(d)"], spark=spark)
    keys = {"m": ("'a'", "'b'", "'c'"), "d": ("0D", "-0D", "1D", "double('NaN')")}

    def leaf() -> str:
        name = drawn.choice(["m", "d"])
        one, other = (f"{name}[{drawn.choice(keys[name])}]" for _ in range(2))
        at = f"element_at({name}, {drawn.choice(keys[name])})"
        return drawn.choice(
            [
                f"({one} = 5)",
                f"({one} >= 5 AND {one} < 9)",
                f"({one} = 5 AND {other} = 9)",
                f"({one} > 1 AND {at} < 9)",
                f"({one} <> 5)",
                f"({at} = 9)",
                f"map_contains_key({name}, {drawn.choice(keys[name])})",
            ]
        )

    count = depth("ENTRIES", test=10, soak=600)
    conditions = [drawn_condition(drawn, leaf) for _ in range(count)] + [
        leaf() for _ in range(count)
    ]
    assert check_conditions(spark, f"parquet.`{folder}`", conditions)
    # each entry of a key makes a row of its own
    for condition in (
        "key = 'a' AND value >= 5 AND m['a'] < 5",
        "key = 'a' AND value = 9 AND m['a'] = 1",
        "key = 'a' AND value = 5",
        "m['b'] = 9 AND key = 'b' AND value IS NULL",
    ):
        query = f"SELECT * FROM parquet.`{folder}` LATERAL VIEW explode(m) e AS key, value"
        compared(spark, f"{query} WHERE {condition}")
    ls.disable(spark)
