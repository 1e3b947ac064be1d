"""Ordinary queries on tables whose equality deletes would not fit into memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.deletes.kit import EqualityDeletes, rows_of

import lakesieve as ls
from lakesieve.index import ReasonCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

LIMIT = "spark.lakesieve.deletes.memory"
# a query, and how many of its scans read by joins
QUERIES = [
    ("SELECT * FROM {t}", 1),
    ("SELECT v FROM {t} WHERE p = 0 AND v > 3", 1),
    ("SELECT count(*) FROM {t}", 1),
    ("SELECT n.b FROM {t} WHERE n.a > 4", 1),
    ("SELECT _file, _pos, v FROM {t} WHERE k <> 3", 1),
    ("SELECT _row_id, _last_updated_sequence_number, v FROM {t}", 1),
    ("SELECT v FROM {t} WHERE p = 9", 0),
    ("SELECT v, _deleted FROM {t}", 0),
    ("SELECT _partition, v FROM {t}", 0),
    ("SELECT a.v, b.v FROM {t} a JOIN {t} b ON a.k = b.k AND a.p = b.p WHERE b.v % 7 = 1", 2),
    ("WITH c AS (SELECT k, rand() < 2 r FROM {t}) SELECT count(*) FROM c JOIN c d USING (k)", 1),
    ("SELECT v, (SELECT max(v) FROM {t} b WHERE b.k = a.k AND b.p = 1) FROM {t} a", 2),
    ("SELECT v FROM {t} WHERE k IN (SELECT max(k) FROM {t} WHERE p = 1)", 2),
]


@pytest.fixture
def made(spark: SparkSession, table: str) -> Iterator[EqualityDeletes]:
    """Six data files in three partitions, rows deleted by key, by position, and with nulls."""
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, s STRING, p INT, v BIGINT, n STRUCT<a: INT, b: INT>) "
        "USING iceberg PARTITIONED BY (p) TBLPROPERTIES ('format-version'='3', "
        "'write.delete.mode'='merge-on-read')"
    )
    for start in (0, 30):
        spark.sql(
            f"INSERT INTO {table} SELECT id % 20, IF(id % 4 = 0, NULL, concat('s', id % 5)), "
            f"CAST(id % 3 AS INT), id, named_struct('a', int(id), 'b', int(-id)) "
            f"FROM range({start}, {start + 30})"
        )
    deletes = EqualityDeletes(spark, table)
    deletes.delete(["s", "k"], [[None, 4], ["s2", 7], ["s3", 3]], partition=deletes.partitions()[1])
    deletes.delete(["k"], [[5], [6]], partition=deletes.partitions()[0])
    spark.sql(f"DELETE FROM {table} WHERE v IN (1, 10, 33)")
    spark.conf.set(LIMIT, "100b")
    yield deletes
    spark.conf.unset(LIMIT)


@pytest.fixture
def alike(spark: SparkSession, table: str) -> Callable[[str], list[ReasonCode]]:
    """Run a query with and without lakesieve, check equal rows; return the reasons."""

    def run(query: str) -> list[ReasonCode]:
        ls.disable(spark)
        expected = rows_of(spark.sql(query.format(t=table)))
        ls.enable(spark)
        assert rows_of(spark.sql(query.format(t=table))) == expected, query
        return [reason.code for scan in ls.last_pruning(spark) for reason in scan.reasons]

    return run


def test_queries(made: EqualityDeletes, alike: Callable[[str], list[ReasonCode]]) -> None:
    """Scans in joins, subqueries and CTEs give the rows of Iceberg's own reader."""
    joined = {query: alike(query).count(ReasonCode.DELETES_JOINED) for query, _ in QUERIES}

    assert joined == dict(QUERIES)


def test_versions(
    spark: SparkSession,
    table: str,
    made: EqualityDeletes,
    alike: Callable[[str], list[ReasonCode]],
) -> None:
    """Time travel and branches read the right version, even after changes of columns."""
    snapshot = spark.sql(f"SELECT snapshot_id FROM {table}.refs").head(1)[0][0]
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH b")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN s TO renamed")
    spark.sql(f"ALTER TABLE {table} DROP COLUMN k")
    spark.sql(f"INSERT INTO {table}.branch_b SELECT 's', 1, 100, NULL")

    for source in (f"{{t}} VERSION AS OF {snapshot}", "{t}", "{t} VERSION AS OF 'b'"):
        assert ReasonCode.DELETES_JOINED in alike(f"SELECT * FROM {source} WHERE v > 2"), source


def test_what_stays_as_it_is(
    spark: SparkSession,
    table: str,
    made: EqualityDeletes,
    alike: Callable[[str], list[ReasonCode]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Queries below the limit, commands, and queries whose joins fail use Iceberg's own reader."""
    spark.conf.set(LIMIT, "1m")
    assert ReasonCode.DELETES_JOINED not in alike("SELECT v FROM {t}")
    spark.conf.set(LIMIT, "off")
    assert ReasonCode.DELETES_JOINED not in alike("SELECT v FROM {t}")

    spark.conf.set(LIMIT, "100b")
    spark.sql(f"UPDATE {table} SET s = 'new' WHERE v = 20")
    assert spark.table(table).where("s = 'new'").count() == 1

    def fail(*_: object) -> None:
        raise RuntimeError("no joins today")

    monkeypatch.setattr("lakesieve.spark.rule.installed.join_scan", fail)
    assert alike("SELECT v FROM {t}").count(ReasonCode.INTERNAL_ERROR) == 1
    assert "no joins today" in " ".join(map(str, ls.last_pruning(spark)[0].reasons))


def test_an_index_skips_files_first(
    spark: SparkSession,
    table: str,
    made: EqualityDeletes,
    alike: Callable[[str], list[ReasonCode]],
) -> None:
    """The estimate counts only files that an index leaves, and the joins read only those."""
    ls.create_index(table, ["v"], spark=spark)

    assert ReasonCode.DELETES_JOINED not in alike("SELECT k FROM {t} WHERE v = 31 AND p = 2")
    assert ReasonCode.DELETES_JOINED in alike("SELECT k FROM {t} WHERE v IN (6, 31)")
    assert ls.last_pruning(spark)[0].files_read == 2
