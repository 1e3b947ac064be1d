"""Words of texts: the cases of the specification, and what is refused of words alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.sieve.test_words import CASES
from tests.spark.many_keys.words import literal

import lakesieve as ls
from lakesieve.errors import UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


def test_cases_of_the_rule(spark: SparkSession, tmp_path: Path) -> None:
    """The build on Spark has exactly the words of the cases of the specification."""
    folder = tmp_path / "cases"
    rows = spark.createDataFrame(list(enumerate(CASES)), "id INT, message STRING")
    rows.coalesce(1).write.parquet(str(folder))
    table = f"parquet:{folder}"
    index = ls.create_index(table, "words(message)", spark=spark, rows_per_block=1)
    for at, text in enumerate(CASES):
        if CASES[text] and all(len(word) < 256 for word in CASES[text]):
            rows_found = index.files(f"message = {literal(text)}").row_ranges
            assert rows_found is not None
            assert rows_found[0] is not None
            assert at in {row for start, end in rows_found[0] for row in range(start, end)}
    assert index.info().keys == len({word for words in CASES.values() for word in words})


def test_no_budget(spark: SparkSession, tmp_path: Path) -> None:
    """A budget is refused: it would leave out words that a search needs."""
    folder = tmp_path / "texts"
    spark.sql("SELECT 'a b' AS message").write.parquet(str(folder))
    with pytest.raises(UnsupportedError, match="cannot have a budget"):
        ls.create_index(f"parquet:{folder}", "words(message)", spark=spark, budget="8 bits")
