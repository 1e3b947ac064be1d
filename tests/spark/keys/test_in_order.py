"""Keys and files that an index answers in order are those that Spark finds by reading all rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import lakesieve as ls
from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.index import ReasonCode

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = {
    "i": "CAST(id * 7919 % 5003 AS INT)",
    "f": "CASE WHEN id % 50 = 0 THEN FLOAT('NaN') WHEN id % 7 = 0 THEN FLOAT('-0.0') "
    "ELSE FLOAT(id % 60) / FLOAT(8) END",
    "s": "CASE WHEN id % 9 <> 0 THEN concat('ä', id % 80) END",
}
MARKS = {
    "iceberg": "'write.delete.mode'='merge-on-read'",
    "delta": "'delta.enableDeletionVectors'='true'",
}


def _plain(value: Any) -> str:
    """Return a value as text that is equal for equal values of Spark, as Python collects them."""
    return str(value + 0.0 if isinstance(value, float) else value)


@pytest.mark.in_time("iceberg")
@pytest.mark.parametrize("form", ["iceberg", "delta"])
def test_answers_are_those_of_spark(spark: SparkSession, form: str) -> None:
    """For the current version and for an earlier one, values and files agree with SQL."""
    table = "lake.in_order.t" if form == "iceberg" else "in_order.t"
    spark.sql(f"CREATE DATABASE IF NOT EXISTS {table.rpartition('.')[0]}")
    row = ", ".join(f"{sql} AS {name}" for name, sql in COLUMNS.items())
    spark.sql(
        f"CREATE OR REPLACE TABLE {table} USING {form} TBLPROPERTIES ({MARKS[form]}) "
        f"AS SELECT id, {row} FROM range(0, 1200, 1, 3)"
    )
    indexes = ls.create_indexes(table, [[name] for name in COLUMNS], spark=spark)
    early = ls.find_files(table, "id >= 0", spark=spark).version
    spark.sql(f"INSERT INTO {table} SELECT id, {row} FROM range(1200, 1600, 1, 1)")
    ls.refresh_indexes(table, spark=spark)

    asked = ", ".join(f"min({name}), max({name}), count(DISTINCT {name})" for name in COLUMNS)
    for version in (None, early):
        rows = table if version is None else f"{table} VERSION AS OF {version}"
        (expected,) = spark.sql(f"SELECT {asked} FROM {rows}").collect()
        for at, index in enumerate(indexes):
            low, high, count = expected[3 * at : 3 * at + 3]
            assert _plain(index.min(version).as_py()) == _plain(low)
            assert _plain(index.max(version).as_py()) == _plain(high)
            # the two segments of the first column overlap, and have too many keys to be kept
            if index.name != "i" or version is not None:
                assert index.distinct_count(version) == count

    file = "_file" if form == "iceberg" else "_metadata.file_path"
    first = spark.sql(f"SELECT {file} FROM {table} ORDER BY i DESC LIMIT 5").collect()
    files = ls.find_files(table, order_by="i DESC", limit=5, spark=spark)
    assert {name.rpartition("/")[2] for (name,) in first} <= {
        path.rpartition("/")[2] for path in files.paths
    }
    assert files.reasons[0].code is ReasonCode.FIRST_ROWS

    spark.sql(f"DELETE FROM {table} WHERE id = 77")
    with pytest.raises(UnsupportedError) as deleted:
        indexes[0].min()
    assert deleted.value.kind is ErrorKind.ROW_DELETES
