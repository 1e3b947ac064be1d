"""What users write against the public names; ``mypy`` must accept it as it stands.

Nothing here runs. A signature or a result type that changes shows up as a type error.
"""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, assert_type

import lakesieve as ls
from lakesieve.errors import LakesieveError, NotFoundError

if TYPE_CHECKING:
    import duckdb
    import polars as pl
    from pyarrow.dataset import Dataset
    from pyspark.sql import DataFrame, SparkSession


def session() -> SparkSession:
    spark = ls.local_session("warehouse", formats=["iceberg", "delta"], conf={"spark.a": "b"})
    ls.enable(spark, locations=["s3://bucket/indexes"])
    ls.disable(spark)
    return spark


def build(spark: SparkSession) -> ls.SparkIndex:
    def show(progress: ls.BuildProgress) -> None:
        assert_type(progress.phase, str)

    best: ls.TradeOffInfo = ls.trade_offs("lake.t.a", ["k"], spark=spark)[0]
    assert_type(best.bits_per_row, float)
    several = ls.create_indexes("lake.t.a", [["a"], ("b", "c")], spark=spark, names=[None, "bc"])
    assert_type(several, list[ls.SparkIndex])
    assert_type(ls.refresh_indexes("lake.t.a", ["a"], spark=spark), list[ls.RefreshResult])
    return ls.create_index(
        "lake.t.a",
        ["tenant", "time"],
        spark=spark,
        name="by_tenant",
        location="s3://bucket/indexes",
        budget="4 bits",
        progress=show,
    )


def look_up(spark: SparkSession, keys: DataFrame) -> list[str]:
    index = ls.open_index("lake.t.a", "by_tenant", spark=spark)
    found = index.files("tenant = 5", version="tag")
    assert_type(found, ls.FileMatches)
    assert_type((found.total, found.uncovered), tuple[int, int])
    codes: list[str] = [reason.code for reason in found.reasons]
    located = index.locate(keys, version=7)
    assert_type(located, ls.KeyLocations)
    assert_type(located.pairs.count(), int)
    everywhere = ls.find_files("lake.t.a", "tenant = 5", spark=spark, version=None)
    shown: str = index.explain("tenant = 5")
    return [*everywhere.paths, *found.paths, *codes, shown]


def upkeep(spark: SparkSession, index: ls.SparkIndex) -> None:
    assert_type(index.refresh(all_refs=True, dry_run=True), ls.RefreshResult)
    assert_type(index.compact(dry_run=True), ls.CompactionResult)
    assert_type(index.history(), list[ls.CommitInfo])
    assert_type(index.at(0), ls.Index)
    assert_type(index.rollback(0), ls.IndexInfo)
    assert_type(index.vacuum(older_than=timedelta(hours=1), dry_run=False).bytes, int)
    assert_type(index.verify().is_sound, bool)
    assert_type(index.verify_rows(files=None), ls.VerifiedRows)
    assert_type(index.clone("lake.t.b"), ls.CloneResult)
    assert_type(ls.list_indexes("lake.t.a", spark=spark), list[ls.IndexInfo])
    assert_type(ls.clone_table("lake.t.a", "lake.t.c", spark=spark), list[ls.CloneResult])
    ls.repair_index("lake.t.a", "by_tenant", spark=spark, dry_run=True)
    index.drop(force=True)


def change(spark: SparkSession, rows: DataFrame) -> int:
    done = ls.upsert(rows, "lake.t.a", on=["id"], spark=spark, txn=("job", 7))
    assert_type(done, ls.RowChange)
    gone = ls.delete(rows, "lake.t.a", on=["id"], spark=spark, dry_run=True)
    status = ls.status("lake.t.a", spark=spark, threshold=0.5)
    assert_type(status, ls.TableStatus)
    scans: list[ls.TablePruning] = ls.last_pruning(spark)
    return (done.updated or 0) + (gone.deleted or 0) + sum(scan.files_read for scan in scans)


def equality_deletes(spark: SparkSession) -> int:
    rows: DataFrame = ls.deletes.read("lake.t.a", spark=spark, version=7)
    status = ls.deletes.status("lake.t.a", spark=spark)
    done = ls.deletes.convert("lake.t.a", spark=spark, branch="main", partial_progress=True)
    assert_type(status.table, str)
    assert_type(done.table, str)
    return rows.count()


def errors(spark: SparkSession) -> str:
    try:
        ls.open_index("lake.t.a", "k", spark=spark)
    except NotFoundError as error:
        return f"{error.message} {error.hint} {error.kind}"
    except LakesieveError as error:
        return str(error)
    return ""


def engines(con: duckdb.DuckDBPyConnection) -> pl.LazyFrame:
    dataset: Dataset = ls.engines.arrow.dataset("delta:/data/a")
    relation: duckdb.DuckDBPyRelation = ls.engines.duckdb.relation(con, "lake.t.a")
    ls.engines.pyiceberg.enable()
    assert_type(ls.engines.polars.last_pruning(), list[ls.TablePruning])
    assert_type(relation.columns, list[str])
    print(dataset.schema)  # noqa: T201 - what users write
    return ls.engines.polars.scan("lake.t.a", version="tag")


def objects(spark: SparkSession, rows: DataFrame, con: duckdb.DuckDBPyConnection) -> None:
    lake = ls.connect(spark, location="s3://bucket/indexes")
    assert_type(lake.tables(), list[ls.TableInfo])
    orders = lake["t.a"]
    assert_type(orders, ls.Table)
    assert_type(orders.create_index("id", budget="4 bits"), ls.SparkIndex)
    assert_type(orders.find_files("id = 5", version="tag"), ls.FileMatches)
    assert_type(orders.upsert(rows, on="id", txn=("job", 7), dry_run=True), ls.RowChange)
    assert_type(orders.refresh(all_refs=True), list[ls.RefreshResult])
    assert_type(orders.index("id").refresh(dry_run=True), ls.RefreshResult)
    assert_type(orders.advise(queries=["q.sql"], sample=5), ls.TableAdvice)
    assert_type(orders.clone("lake.t.b"), list[ls.CloneResult])
    assert_type(orders.deletes.convert(branch="main").table, str)
    plain = ls.table("delta:/data/a")
    frame: pl.LazyFrame = plain.scan_polars(version=7)
    dataset: Dataset = plain.to_arrow_dataset()
    relation: duckdb.DuckDBPyRelation = plain.to_duckdb(con)
    assert_type((frame.collect().height, relation.columns), tuple[int, list[str]])
    print(dataset.schema)  # noqa: T201 - what users write
    old: ls.Refreshed = orders.refresh()[0]
    assert_type(old, ls.RefreshResult)
