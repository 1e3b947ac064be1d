"""A driver of a cluster: makes a table on S3 and does one thing after another, telling of each.

Run as ``python driver.py CONF STEPS``: the session's settings as JSON, and the steps, or ``all``.
"""

from __future__ import annotations

import json
import sys
import time
from typing import TYPE_CHECKING

import pyspark
from tests.spark.deletes.kit import EqualityDeletes

import lakesieve as ls
from lakesieve.spark.local import packages_conf
from lakesieve.spark.tables.iceberg.spec import ICEBERG
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

TABLE = "lake.t.x"
ROWS = 400_000
FILES = 8
MORE = ("org.apache.iceberg:iceberg-aws-bundle:1.12.0", "org.xerial:sqlite-jdbc:3.50.3.0")
SHIPPED = "ship"


def tell(line: str) -> None:
    """Write a line at once: there may be no later."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def make(spark: SparkSession) -> None:
    """The table, new."""
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.t")
    spark.sql(f"DROP TABLE IF EXISTS {TABLE}")
    spark.sql(
        f"CREATE TABLE {TABLE} (k BIGINT, v BIGINT) USING iceberg TBLPROPERTIES "
        "('format-version'='2', 'write.distribution-mode'='none', "
        "'write.merge.mode'='merge-on-read')"
    )
    rows = spark.range(0, ROWS, 1, FILES).selectExpr(f"(id * 7919) % {ROWS} AS k", "id AS v")
    rows.writeTo(TABLE).append()


def build(spark: SparkSession) -> None:
    """A new index."""
    for info in ls.list_indexes(TABLE, spark=spark):
        ls.open_index(TABLE, info.name, spark=spark).drop()
    ls.create_index(TABLE, ["k"], spark=spark)


def refresh(spark: SparkSession) -> None:
    """New files, indexed."""
    rows = spark.range(ROWS, ROWS + 40_000, 1, FILES).selectExpr("id AS k", "id AS v")
    rows.writeTo(TABLE).append()
    ls.open_index(TABLE, "k", spark=spark).refresh()


def locate(spark: SparkSession) -> None:
    """The files of every other key."""
    index = ls.open_index(TABLE, "k", spark=spark)
    keys = spark.range(0, ROWS, 2, FILES).toDF("k")
    found = index.locate(keys).pairs.select("k").distinct().count()
    assert found == ROWS // 2, found


def upsert(spark: SparkSession) -> None:
    """Some rows changed, some new."""
    rows = spark.range(100, 200_000, 997).selectExpr(f"id * 5 % {ROWS + 1_000} AS k", "-id AS v")
    ls.upsert(rows.dropDuplicates(["k"]), TABLE, on=["k"], spark=spark)


def conversion(spark: SparkSession) -> None:
    """Equality deletes of a thousand keys, converted to position deletes."""
    EqualityDeletes(spark, TABLE).delete(["k"], [[key] for key in range(3, 3_000, 3)])
    ls.deletes.convert(TABLE, spark=spark)


def pruned(spark: SparkSession, table: str, key: int) -> tuple[list[int], int, int]:
    """The rows of a key with skipping on, and the data files before and after."""
    ls.enable(spark)
    rows = spark.sql(f"SELECT v FROM {table} WHERE k = {key}").collect()
    (scan,) = ls.last_pruning(spark)
    ls.disable(spark)
    return sorted(row.v for row in rows), scan.files_total, scan.files_read


def blocks(spark: SparkSession) -> None:
    """Executors read one row block of a file on S3, which the file IO of the catalog opens."""
    ls.create_index(TABLE, "k", spark=spark, name="blocks", rows_per_block=100)
    query = f"SELECT * FROM {TABLE} WHERE k = 7919"
    expected = spark.sql(query).collect()
    ls.enable(spark)
    rows = spark.sql(query).collect()
    (scan,) = ls.last_pruning(spark)
    ls.disable(spark)
    assert rows == expected, rows
    assert scan.rows_read == 100, scan
    assert scan.rows_total is not None, scan
    assert scan.rows_total > 100, scan


def renamed(spark: SparkSession) -> None:
    """An index follows its table to another name, and leaves the old name alone."""
    other = "lake.t.other"
    expected = pruned(spark, TABLE, 7919)
    assert expected == ([1], FILES, 1), expected
    spark.sql(f"ALTER TABLE {TABLE} RENAME TO {other.removeprefix('lake.')}")
    assert (now := pruned(spark, other, 7919)) == expected, now
    spark.sql(f"CREATE TABLE {TABLE} USING iceberg AS SELECT id AS k, id AS v FROM range(9000)")
    rows, _, _ = pruned(spark, TABLE, 7919)
    assert rows == [7919], rows
    spark.sql(f"DROP TABLE {TABLE}")
    spark.sql(f"ALTER TABLE {other} RENAME TO {TABLE.removeprefix('lake.')}")
    assert (now := pruned(spark, TABLE, 7919)) == expected, now


def replaced(spark: SparkSession) -> None:
    """A table that is dropped and made again at its place does not get the index of the old one."""
    (row,) = spark.sql(f"DESCRIBE EXTENDED {TABLE}").where("col_name = 'Location'").collect()
    spark.sql(f"DROP TABLE {TABLE}")
    spark.sql(
        f"CREATE TABLE {TABLE} USING iceberg LOCATION '{row.data_type}' "
        "AS SELECT id AS k, id AS v FROM range(0, 9000, 1, 4)"
    )
    rows, total, read = pruned(spark, TABLE, 7919)
    assert (rows, total) == ([7919], read), (rows, total, read)
    found = ls.find_files(TABLE, "k = 7919", spark=spark)
    # the minimum and maximum of the format still count
    assert (found.total, len(found.paths)) == (4, found.left_by_format), found
    assert found.indexes == (), found
    assert "other-table" in {reason.code for reason in found.reasons}, found


def moved(spark: SparkSession) -> None:
    """A table that another catalog has registered answers by the same index."""
    build(spark)
    expected = pruned(spark, TABLE, 7919)
    metadata = spark.sql(f"SELECT file FROM {TABLE}.metadata_log_entries ORDER BY timestamp DESC")
    (newest, *_) = (row.file for row in metadata.collect())
    spark.sql("CREATE NAMESPACE IF NOT EXISTS second.t")
    spark.sql(f"CALL second.system.register_table('t.x', '{newest}')")
    assert pruned(spark, "second.t.x", 7919) == expected
    spark.sql("INSERT INTO second.t.x VALUES (7919, -1)")
    rows, _, _ = pruned(spark, "second.t.x", 7919)
    assert rows == [-1, *expected[0]], rows
    assert (now := pruned(spark, TABLE, 7919)) == expected, now


STEPS: dict[str, Callable[[SparkSession], None]] = {
    "build": build,
    "refresh": refresh,
    "locate": locate,
    "blocks": blocks,
    "upsert": upsert,
    "conversion": conversion,
    "renamed": renamed,
    "replaced": replaced,
    "moved": moved,
}


def state(spark: SparkSession) -> dict[str, object]:
    """What the table holds, and whether its index is sound and gives the same rows."""
    total = f"SELECT count(*) AS n, sum(v) AS v, sum(k) AS k FROM {TABLE}"
    points = f"SELECT k, v FROM {TABLE} WHERE k IN (7, 9, 100, 399999, 400100) ORDER BY k, v"
    ls.disable(spark)
    (row,) = spark.sql(total).collect()
    expected = [tuple(one) for one in spark.sql(points).collect()]
    found: dict[str, object] = {"rows": tuple(row), "indexes": 0}
    for info in ls.list_indexes(TABLE, spark=spark):
        index = ls.open_index(TABLE, info.name, spark=spark)
        found["indexes"] = 1
        found["sound"] = index.verify().is_sound
        found["wrong"] = len(index.verify_rows(files=None).wrong)
    ls.enable(spark)
    found["alike"] = [tuple(one) for one in spark.sql(points).collect()] == expected
    ls.disable(spark)
    return found


def main() -> None:
    """Do the steps."""
    conf = json.loads(sys.argv[1])
    version = spark_version_of(pyspark.__version__)
    packages = packages_conf(version, [ICEBERG])["spark.jars.packages"]
    spark = ls.local_session(
        conf.pop("warehouse"), conf={"spark.jars.packages": ",".join((packages, *MORE)), **conf}
    )
    for step in sys.argv[2:]:
        tell(f"begin {step}")
        start = time.monotonic()
        if step == "make":
            make(spark)
        elif step == SHIPPED:
            ls.ship(spark)
        elif step == "state":
            tell(f"state {json.dumps(state(spark))}")
        else:
            try:
                STEPS[step](spark)
            except Exception as error:  # noqa: BLE001 -- the test looks at it
                tell(f"error {step}: {' '.join(str(error).split())[:600]}")
        tell(f"end {step} {time.monotonic() - start:.2f}")
    spark.stop()


if __name__ == "__main__":
    main()
