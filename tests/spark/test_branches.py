"""In every function, "the current version" of an Iceberg table is that of Spark's SQL.

The branch is that of the identifier, else the session's WAP branch, else ``main``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyspark
import pytest
from tests.spark.deletes.kit import EqualityDeletes
from tests.spark.session_settings import session_settings
from tests.spark.settings import NEWEST

import lakesieve as ls
from lakesieve.advisor.index_estimates import estimate_indexes
from lakesieve.api import look_ups
from lakesieve.errors import ErrorKind, LakesieveError, UnsupportedError
from lakesieve.index.declared import DeclaredIndex, DeclaredTable
from lakesieve.index.freshness import index_states
from lakesieve.spark.session.access import access_by

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

KEEPS_TRANSACTIONS = not pyspark.__version__.startswith("3.")
WAP_BRANCH, WAP_ID = "spark.wap.branch", "spark.wap.id"
# how a branch is named: the session's settings, and what is put behind the table's name
BY_SESSION = pytest.param({WAP_BRANCH: "audit"}, "", id="by-session")
BY_NAME = pytest.param({}, ".branch_audit", id="by-name")
# the other tests meet the same resolver
BY_NAME_IN_DEPTH = pytest.param({}, ".branch_audit", id="by-name", marks=pytest.mark.soak)
MAIN_BY_NAME = pytest.param(
    {WAP_BRANCH: "audit"}, ".branch_main", id="main-by-name", marks=pytest.mark.soak
)
NO_BRANCH = pytest.param({}, "", id="main", marks=pytest.mark.soak)


@pytest.fixture
def branched(spark: SparkSession, table: str) -> str:
    """A table whose branch has ids that ``main`` has not, and one that is there twice."""
    properties = "'write.wap.enabled' = 'true', 'format-version' = '2'"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, v STRING) TBLPROPERTIES ({properties})")
    spark.sql(f"INSERT INTO {table} SELECT id, string(id) FROM range(0, 100, 1, 2)")
    ls.create_index(table, ["id"], spark=spark)
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH audit")
    spark.sql(f"INSERT INTO {table}.branch_audit SELECT id, string(id) FROM range(500, 510, 1, 1)")
    spark.sql(f"INSERT INTO {table}.branch_audit VALUES (7, 'again')")
    return table


def answer(spark: SparkSession, query: str) -> Any:
    """Return the only value of a query."""
    return spark.sql(query).collect()[0][0]


# by session is how changes and renamed columns are checked
@pytest.mark.in_time("by-name")
@pytest.mark.parametrize(("conf", "suffix"), [BY_SESSION, BY_NAME, MAIN_BY_NAME, NO_BRANCH])
def test_look_ups(spark: SparkSession, branched: str, conf: dict[str, str], suffix: str) -> None:
    """A look-up in a version agrees with SQL on the same name in the same session."""
    name = branched + suffix
    with session_settings(spark, conf):
        ids = {row["id"] for row in spark.table(name).select("id").collect()}
        twice = spark.sql(f"SELECT id FROM {name} GROUP BY id HAVING count(*) > 1").count()
        files = spark.sql(f"SELECT DISTINCT input_file_name() AS f FROM {name}").count()
        index = ls.open_index(name, "id", spark=spark)
        given = ls.check_references(
            spark.range(495, 505).toDF("id"), ["id"], name, ["id"], spark=spark
        )
        main = f"{branched}.branch_main"
        child = ls.check_references(name, ["id"], main, ["id"], spark=spark)

        assert len(ls.find_files(name, "id >= 0", spark=spark).paths) == files
        held = index.contains(pa.array([7, 500, 1000]), confirm=True)
        assert held.absent.to_pylist() == [key not in ids for key in (7, 500, 1000)]
        of_frame = index.contains(spark.range(495, 505).toDF("id"), confirm=True).keys
        assert of_frame.where("absent").count() == len(set(range(495, 505)) - ids)
        assert ls.check_unique(name, ["id"], spark=spark).violations == twice
        assert ls.duplicates(name, ["id"], spark=spark).count == twice
        assert given.violations == len(set(range(495, 505)) - ids)
        assert child.violations == len(ids - set(range(100)))
        assert ls.status(name, spark=spark).files == files
        assert ls.deletes.read(name, spark=spark).count() == spark.table(name).count()
        refreshed = index.refresh()
        assert refreshed.covered + refreshed.files == files
        assert index.verify_rows(files=None).files == files


@pytest.mark.parametrize(("conf", "suffix"), [BY_SESSION, BY_NAME_IN_DEPTH, NO_BRANCH])
def test_answers_of_the_index_alone(
    spark: SparkSession, branched: str, conf: dict[str, str], suffix: str
) -> None:
    """Lowest and highest keys, first rows and keys that are expressions are the branch's own."""
    name = branched + suffix
    spark.sql(f"INSERT INTO {branched}.branch_audit VALUES (-5, 'AGAIN')")
    with session_settings(spark, conf):
        index = ls.open_index(name, "id", spark=spark)
        index.refresh()
        lower = ls.create_index(name, ["lower(v)"], name="lower", spark=spark)
        ends = spark.sql(f"SELECT min(id), max(id), count(DISTINCT id) FROM {name}").collect()[0]
        again = f"SELECT DISTINCT input_file_name() FROM {name} WHERE lower(v) = 'again'"
        first = f"SELECT DISTINCT input_file_name() FROM {name} WHERE id = {ends[0]}"
        near = spark.sql("SELECT 505L AS id UNION ALL SELECT 7L")
        held = f"SELECT DISTINCT id, input_file_name() FROM {name} WHERE id IN (505, 7)"

        assert (index.min().as_py(), index.max().as_py()) == (ends[0], ends[1])
        assert index.distinct(limit=1).to_pylist() == [ends[0]]
        assert index.distinct_count() == ends[2]
        ordered = ls.find_files(name, order_by="id", limit=1, spark=spark)
        assert len(ordered.paths) == spark.sql(first).count()
        assert index.locate(near).pairs.count() == spark.sql(held).count()
        assert lower.info().rows == spark.table(name).count()
        found = ls.find_files(name, "lower(v) = 'again'", spark=spark)
        assert len(found.paths) == spark.sql(again).count()
        table = ls.table(name, spark=spark)
        assert table.index("id").max().as_py() == ends[1]
        rows = spark.table(name).count()
        shown = look_ups.table_overview(name, spark=spark)
        assert (shown.rows, shown.files) == (rows, ordered.total)
        (estimated,) = estimate_indexes(name, ["id"], spark=spark)
        assert estimated.files == ordered.total


# by name is how look-ups are checked
@pytest.mark.in_time("by-session")
@pytest.mark.parametrize(("conf", "suffix"), [BY_SESSION, BY_NAME])
def test_changes(spark: SparkSession, branched: str, conf: dict[str, str], suffix: str) -> None:
    """Changes find the rows of the branch, commit to it, count correctly, and leave main alone."""
    name = branched + suffix
    main = answer(spark, f"SELECT count(*) FROM {branched}.branch_main")
    new = spark.range(499, 501).selectExpr("id", "'new' AS v")
    with session_settings(spark, conf):
        inserted = ls.insert_new(new, name, on=["id"], spark=spark)
        # Iceberg for Spark 3.5 keeps no properties of a commit, by which its snapshot is found
        txn = ("job", 1) if KEEPS_TRANSACTIONS else None
        changed = ls.upsert(new, name, on=["id"], spark=spark, txn=txn)
        if KEEPS_TRANSACTIONS:
            assert ls.upsert(new, name, on=["id"], spark=spark, txn=txn).known
        else:
            with pytest.raises(UnsupportedError, match="does not store transactions"):
                ls.upsert(new, name, on=["id"], spark=spark, txn=("job", 1))
        deleted = ls.delete(spark.range(499, 500), name, on=["id"], spark=spark)
        rows = spark.sql(f"SELECT id FROM {name} WHERE v = 'new'").collect()

    assert inserted.inserted == 1
    assert [row["id"] for row in rows] == [500]
    assert (changed.version is not None) is KEEPS_TRANSACTIONS
    if NEWEST:
        # older versions of Spark count no rows
        assert (changed.updated, deleted.deleted) == (2, 1)
    assert (changed.files_added is not None) is KEEPS_TRANSACTIONS
    head = f"SELECT snapshot_id FROM {branched}.refs WHERE name = 'audit'"
    assert deleted.version == (str(answer(spark, head)) if KEEPS_TRANSACTIONS else None)
    assert answer(spark, f"SELECT count(*) FROM {branched}.branch_main") == main


# deletes/test_read has a branch
@pytest.mark.soak
@pytest.mark.parametrize(("conf", "suffix"), [BY_SESSION, BY_NAME_IN_DEPTH])
def test_equality_deletes(
    spark: SparkSession, branched: str, conf: dict[str, str], suffix: str
) -> None:
    """Equality deletes of a branch are read, counted and converted on that branch."""
    EqualityDeletes(spark, branched).delete(["id"], [[500], [7]], branch="audit")
    name = branched + suffix
    with session_settings(spark, conf):
        expected = sorted(spark.table(name).collect())

        assert sorted(ls.deletes.read(name, spark=spark).collect()) == expected
        assert ls.deletes.status(name, spark=spark).equality_records == 2
        converted = ls.deletes.convert(name, spark=spark)
        assert (converted.branch, converted.removed_records) == ("audit", 2)
        assert sorted(spark.table(name).collect()) == expected
        assert ls.deletes.status(name, spark=spark).equality_records == 0
    assert answer(spark, f"SELECT count(*) FROM {branched}.branch_main") == 100


# a renamed column takes the same way
@pytest.mark.soak
@pytest.mark.parametrize(("conf", "suffix"), [BY_SESSION, BY_NAME_IN_DEPTH])
def test_a_column_added_since_the_last_commit(
    spark: SparkSession, branched: str, conf: dict[str, str], suffix: str
) -> None:
    """A branch is indexed and changed under the table's schema, as Spark reads it."""
    spark.sql(f"ALTER TABLE {branched} ADD COLUMN w INT")
    name = branched + suffix
    with session_settings(spark, conf):
        index = ls.create_index(name, ["id"], name="again", spark=spark)

        assert index.info().rows == spark.table(name).count()
        new_column = ls.create_index(name, ["w"], name="new", spark=spark)
        assert new_column.info().rows == spark.table(name).count()
        held = index.contains(pa.array([7, 500, 1000]), confirm=True)
        assert held.absent.to_pylist() == [False, False, True]
        assert ls.check_unique(name, ["id"], spark=spark).violations == 1
        new = spark.sql("SELECT 500L AS id, 'x' AS v, 1 AS w")
        assert ls.insert_new(new, name, on=["id"], spark=spark).inserted == 0


# so does this column on the main branch, in test_build
@pytest.mark.soak
@pytest.mark.parametrize(("conf", "suffix"), [BY_SESSION, BY_NAME_IN_DEPTH])
def test_a_column_renamed_since_the_last_commit(
    spark: SparkSession, branched: str, conf: dict[str, str], suffix: str
) -> None:
    """A branch is indexed under a column's new name; if Iceberg cannot plan, it is refused."""
    spark.sql(f"ALTER TABLE {branched} RENAME COLUMN id TO k")
    name = branched + suffix
    new = spark.sql("SELECT 500L AS k, 'x' AS v")
    with session_settings(spark, conf):
        index = ls.create_index(name, ["k"], name="again", spark=spark)
        assert index.info().rows == spark.table(name).count()
        assert ls.open_index(name, "id", spark=spark).refresh().files > 0
        if NEWEST:
            with pytest.raises(UnsupportedError, match="id was renamed to k"):
                ls.insert_new(new, name, on=["k"], spark=spark)
            spark.sql(f"INSERT INTO {branched}.branch_audit VALUES (3000, 'x')")

        assert ls.insert_new(new, name, on=["k"], spark=spark).inserted == 0
        assert ls.check_unique(name, ["k"], spark=spark).violations == 1


def test_a_branch_that_is_not_there_yet(spark: SparkSession, branched: str) -> None:
    """A branch that does not exist is read as main, and the first change creates it."""
    new = spark.sql("SELECT 900L AS id, 'x' AS v")
    with session_settings(spark, {WAP_BRANCH: "later"}):
        assert ls.check_unique(branched, ["id"], spark=spark).violations == 0
        inserted = [ls.insert_new(new, branched, on=["id"], spark=spark).inserted for _ in "ab"]
        assert answer(spark, f"SELECT count(*) FROM {branched} WHERE id = 900") == 1

    assert inserted == [1, 0]
    assert answer(spark, f"SELECT count(*) FROM {branched} WHERE id = 900") == 0


def test_all_references_of_a_session_on_a_branch(spark: SparkSession, branched: str) -> None:
    """A refresh of all branches covers main, even if the session is on another branch."""
    spark.sql(f"INSERT INTO {branched}.branch_main VALUES (2000, 'main')")
    with session_settings(spark, {WAP_BRANCH: "audit"}):
        ls.refresh_indexes(branched, spark=spark, all_refs=True)

    assert ls.find_files(branched, "id = 2000", spark=spark).uncovered == 0


def test_upkeep_on_a_branch(spark: SparkSession, branched: str, tmp_path: Path) -> None:
    """Maintenance, freshness, trade-offs and advice are about the session's branch, not main."""
    queries = tmp_path / "queries.sql"
    queries.write_text(f"SELECT * FROM {branched} WHERE v = 'again';")
    declared = DeclaredTable(name=branched, indexes=(DeclaredIndex(columns=("id",), name="id"),))
    blocks = ls.trade_offs(branched, "id", spark=spark)[-1].blocks
    with session_settings(spark, {WAP_BRANCH: "audit"}):
        assert ls.find_files(branched, "id = 505", spark=spark).uncovered == 1
        (state,) = index_states(access_by(spark), branched, None)
        (advice,) = ls.advise(branched, queries=[str(queries)], spark=spark)
        (done,) = ls.maintain([declared], spark=spark)

        assert ls.find_files(branched, "id = 505", spark=spark).uncovered == 0
        assert ls.trade_offs(branched, "id", spark=spark)[-1].blocks > blocks
    assert (state.covered_files, state.live_files, advice.files) == (2, 4, 4)
    assert done.holds
    assert [step.action for step in done.steps] == ["refresh"]


def change(spark: SparkSession, name: str) -> object:
    """Change a row."""
    return ls.upsert(spark.sql("SELECT 7L AS id, 'x' AS v"), name, on=["id"], spark=spark)


def convert(spark: SparkSession, name: str) -> object:
    """Convert equality deletes."""
    return ls.deletes.convert(name, spark=spark)


def find(spark: SparkSession, name: str) -> object:
    """Find files."""
    return ls.find_files(name, "id = 7", spark=spark)


REFUSED = [
    ({WAP_ID: "a"}, "", change, ErrorKind.UNSUPPORTED_SESSION),
    ({WAP_ID: "a"}, ".branch_audit", change, ErrorKind.UNSUPPORTED_SESSION),
    ({WAP_ID: "a"}, "", convert, ErrorKind.UNSUPPORTED_SESSION),
    ({WAP_ID: "a", WAP_BRANCH: "audit"}, "", find, ErrorKind.INVALID_ARGUMENT),
    ({WAP_ID: "a", WAP_BRANCH: "audit"}, "", change, ErrorKind.INVALID_ARGUMENT),
    ({}, ".branch_none", find, ErrorKind.TABLE_NOT_FOUND),
    ({}, ".tag_first", find, ErrorKind.NOT_A_TABLE),
    ({}, ".tag_first", change, ErrorKind.NOT_A_TABLE),
    ({}, ".snapshot_id_{snapshot}", find, ErrorKind.NOT_A_TABLE),
    ({}, ".at_timestamp_4000000000000", convert, ErrorKind.NOT_A_TABLE),
    ({}, ".files", find, ErrorKind.UNSUPPORTED_TABLE),
]


def test_refusals(spark: SparkSession, branched: str) -> None:
    """Unsupported calls are refused by name, with the next step."""
    spark.sql(f"ALTER TABLE {branched} CREATE TAG first")
    snapshot = answer(spark, f"SELECT snapshot_id FROM {branched}.snapshots LIMIT 1")
    for conf, suffix, call, kind in REFUSED:
        name = branched + suffix.format(snapshot=snapshot)
        with session_settings(spark, conf), pytest.raises(LakesieveError, match=name) as raised:
            call(spark, name)

        assert raised.value.kind == kind, name
        assert raised.value.hint


def test_a_wap_id_leaves_reads_alone(spark: SparkSession, branched: str) -> None:
    """Rows that a WAP id stages are invisible, and look-ups still work."""
    with session_settings(spark, {WAP_ID: "staged"}):
        spark.sql(f"INSERT INTO {branched} VALUES (7, 'staged')")

        assert ls.check_unique(branched, ["id"], spark=spark).violations == 0


def test_a_table_that_is_called_like_a_branch(spark: SparkSession, branched: str) -> None:
    """A table's own name takes precedence over a selector of the same form."""
    name = f"{branched.rpartition('.')[0]}.branch_audit"
    spark.sql(f"CREATE TABLE {name} AS SELECT id FROM range(3)")
    try:
        assert ls.check_unique(name, ["id"], spark=spark).violations == 0
    finally:
        spark.sql(f"DROP TABLE {name} PURGE")


def test_a_clone_begins_as_the_branch(spark: SparkSession, branched: str) -> None:
    """The copy of a branch has its rows."""
    copy = f"{branched}_copy"
    ls.clone_table(f"{branched}.branch_audit", copy, spark=spark)
    try:
        expected = answer(spark, f"SELECT count(*) FROM {branched}.branch_audit")
        assert answer(spark, f"SELECT count(*) FROM {copy}") == expected
    finally:
        spark.sql(f"DROP TABLE {copy}")
