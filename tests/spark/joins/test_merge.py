"""MERGE gives the same table with skipping on as with skipping off, and reads less."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kit.reports import internal_errors

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

FILES = 10
# each with whether the keys of the source may keep files of the target out
CLAUSES = {
    "WHEN MATCHED THEN UPDATE SET v = s.x": True,
    "WHEN MATCHED AND s.x % 2 = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET v = v + s.x "
    "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.x)": True,
    "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, -s.x)": True,
    "WHEN NOT MATCHED AND s.x > 2 THEN INSERT (k, v) VALUES (s.k, 1) "
    "WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, 2)": True,
    "WHEN MATCHED THEN UPDATE SET v = 0 "
    "WHEN NOT MATCHED BY SOURCE AND v % 7 = 0 THEN UPDATE SET v = -1": False,
}
SOURCES = (
    "SELECT * FROM VALUES (70L, 1), (71L, 2), (NULL, 3), (100070L, 4) AS q(k, x)",
    "SELECT id * 3 + {n} AS k, id AS x FROM range(4)",
    "SELECT k, max(v) AS x FROM {t} WHERE k < 40 + {n} AND k IS NOT NULL GROUP BY k",
)
KINDS = {
    "iceberg v2 merge-on-read": "iceberg TBLPROPERTIES ('format-version'='2', "
    "'write.merge.mode'='merge-on-read', 'write.distribution-mode'='none')",
    "iceberg v3 merge-on-read": "iceberg TBLPROPERTIES ('format-version'='3', "
    "'write.merge.mode'='merge-on-read', 'write.distribution-mode'='none')",
    "iceberg copy-on-write": "iceberg TBLPROPERTIES ('format-version'='2', "
    "'write.merge.mode'='copy-on-write', 'write.distribution-mode'='none')",
    "delta": "delta TBLPROPERTIES ('delta.enableDeletionVectors'='false')",
    "delta vectors": "delta TBLPROPERTIES ('delta.enableDeletionVectors'='true')",
}


@pytest.fixture
def twins(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[tuple[str, str, str]]:
    """Two equal tables of a kind, the second one indexed."""
    kind = request.param
    catalog = "lake.t" if kind.startswith("iceberg") else "spark_catalog.merges"
    spark.sql("CREATE DATABASE IF NOT EXISTS spark_catalog.merges")
    names = [f"{catalog}.merge_{switch}" for switch in ("off", "on")]
    for name in names:
        _drop(spark, name)
        spark.sql(f"CREATE TABLE {name} (k BIGINT, v BIGINT) USING {KINDS[kind]}")
        rows = spark.range(0, 50 * FILES, 1, FILES).selectExpr(
            "IF(id % 90 = 5, NULL, (id * 7919) % 1009) AS k", "id AS v"
        )
        rows.writeTo(name).append()
    ls.create_index(names[1], ["k"], spark=spark)
    yield kind, *names
    ls.disable(spark)
    for name in names:
        _drop(spark, name)


def _drop(spark: SparkSession, name: str) -> None:
    spark.sql(f"DROP TABLE IF EXISTS {name}{' PURGE' if name.startswith('lake') else ''}")


# copy-on-write is checked by what it replaces
@pytest.mark.in_time("iceberg_v3_merge-on-read")
@pytest.mark.parametrize("twins", KINDS, ids=[k.replace(" ", "_") for k in KINDS], indirect=True)
def test_merges_change_the_same_rows(spark: SparkSession, twins: tuple[str, str, str]) -> None:
    """Merges with several clauses and sources give equal tables, and their keys skip files."""
    _, off, on = twins
    for number, (clauses, may_prune) in enumerate(CLAUSES.items()):
        source = SOURCES[number % len(SOURCES)]
        for table, switch in ((off, ls.disable), (on, ls.enable)):
            switch(spark)
            spark.sql(
                f"MERGE INTO {table} t USING ({source.format(t=table, n=number)}) AS s "
                f"ON t.k = s.k {clauses}"
            )
            scans = ls.last_pruning(spark)
            ls.disable(spark)
        rows = [sorted(map(repr, spark.table(name).collect())) for name in (off, on)]

        assert rows[0] == rows[1], clauses
        assert internal_errors(scans) == []
        codes = {str(r.code) for p in scans for r in p.reasons}
        if may_prune:
            assert "join-keys" in codes, (clauses, scans)
        if not may_prune:
            assert "join-keys" not in codes, (clauses, scans)


@pytest.mark.parametrize("twins", ["iceberg copy-on-write"], ids=["copy"], indirect=True)
def test_copy_on_write_replaces_what_it_scanned(
    spark: SparkSession, twins: tuple[str, str, str]
) -> None:
    """Files without a key of the source stay unchanged, and the others are replaced as a whole."""
    _, _, on = twins
    before = {row[0] for row in spark.sql(f"SELECT file_path FROM {on}.files").collect()}
    holding = spark.sql(f"SELECT DISTINCT _file FROM {on} WHERE k IN (0, {7919 % 1009})")
    touched = {row[0] for row in holding.collect()}
    total = spark.table(on).count()
    ls.enable(spark)
    spark.sql(
        f"MERGE INTO {on} t USING (SELECT explode(array(0, {7919 % 1009})) AS k, 1 AS x) s "
        "ON t.k = s.k "
        "WHEN MATCHED THEN UPDATE SET v = -5 WHEN NOT MATCHED THEN INSERT (k, v) VALUES (s.k, s.x)"
    )
    read = [p.files_read for p in ls.last_pruning(spark) if p.table == on]
    ls.disable(spark)
    after = {row[0] for row in spark.sql(f"SELECT file_path FROM {on}.files").collect()}

    assert before - after == touched
    assert max(read) == len(touched)
    assert spark.table(on).count() == total
