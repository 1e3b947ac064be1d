"""Tables that Spark reads and engines do not: the error names what, and other columns are read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow as pa
import pyspark
import pytest

import lakesieve as ls
from lakesieve.engines import duckdb as duckdb_engine
from lakesieve.engines.table_rows import rows_of
from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.predicate.expression import Constant
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_bare_deletion_vector(spark: SparkSession, table: str) -> None:
    """A vector in a file without a Puffin footer, which Spark reads, is refused by name."""
    version = "TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read')"
    spark.sql(f"CREATE TABLE {table} (k BIGINT) USING iceberg {version}")
    spark.sql(f"INSERT INTO {table} SELECT id FROM range(0, 100, 1, 1)")
    spark.sql(f"DELETE FROM {table} WHERE k % 10 = 3")
    end = "content_offset + content_size_in_bytes"
    ((path, size),) = spark.sql(f"SELECT file_path, {end} FROM {table}.delete_files").collect()
    file = Path(path)
    file.write_bytes(file.read_bytes()[:size])
    file.with_name(f".{file.name}.crc").unlink()
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse"))

    assert spark.sql(f"SELECT count(*) FROM {table}").collect()[0][0] == 90
    with pytest.raises(UnsupportedError, match="cannot be read by PyIceberg") as raised:
        ls.table(table, warehouse=warehouse).scan_polars().collect()
    assert raised.value.kind is ErrorKind.UNSUPPORTED_TABLE
    assert "with Spark" in str(raised.value.hint)


def test_the_branch_of_the_session(spark: SparkSession, table: str) -> None:
    """Polars reads the branch that the session's SQL reads."""
    spark.sql(f"CREATE TABLE {table} (k BIGINT) TBLPROPERTIES ('write.wap.enabled' = 'true')")
    spark.sql(f"INSERT INTO {table} SELECT id FROM range(5)")
    spark.sql(f"ALTER TABLE {table} CREATE BRANCH audit")
    spark.sql(f"INSERT INTO {table}.branch_audit VALUES (7)")
    main = ls.table(table, spark=spark).scan_polars().collect()
    spark.conf.set("spark.wap.branch", "audit")
    try:
        audit = ls.table(table, spark=spark).scan_polars().collect()
    finally:
        spark.conf.unset("spark.wap.branch")

    assert (main.height, audit.height) == (5, 6)


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark 3 has no VARIANT")
def test_a_variant_leaves_other_columns_readable(spark: SparkSession, table: str) -> None:
    """Only the column with an unknown type is refused, by its name."""
    version = "TBLPROPERTIES ('format-version' = '3')"
    spark.sql(f"CREATE TABLE {table} (k BIGINT, v VARIANT, s STRING) USING iceberg {version}")
    spark.sql(f"INSERT INTO {table} SELECT id, PARSE_JSON('[1]'), 'x' FROM range(3)")
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse"))
    rows = rows_of(open_table(table, warehouse=warehouse), None)

    assert rows.schema.names == ["k", "v", "s"]
    schema, batches = rows.batches(Constant(value=True), ["k", "s"])
    found = pa.Table.from_batches(batches, schema)
    assert sorted(row["k"] for row in found.to_pylist()) == [0, 1, 2]
    assert len(ls.find_files(table, "k = 1", warehouse=warehouse).paths) >= 1
    with pytest.raises(UnsupportedError, match="The column v is not read without Spark"):
        rows.batches(Constant(value=True))


@pytest.mark.skipif(pyspark.__version__.startswith("3."), reason="Spark 3 has no VARIANT")
@pytest.mark.parametrize("provider", ["parquet", "delta"])
def test_a_variant_in_a_folder_leaves_other_columns_readable(
    spark: SparkSession, tmp_path: Path, provider: str
) -> None:
    """So it is in the other formats, whose files have a VARIANT as a struct of bytes."""
    rows = spark.range(0, 4, 1, 2).selectExpr("id AS k", "parse_json('[1]') AS v", "'x' AS s")
    rows.write.format(provider).save(str(tmp_path / "t"))
    name = f"{provider}:{tmp_path / 't'}"
    ls.create_index(name, ["k"], spark=spark)

    found = ls.table(name).scan_polars().filter(pl.col("k") == 3).select("k", "s").collect()
    relation = duckdb_engine.relation(duckdb.connect(), name)

    assert found.rows() == [(3, "x")]
    assert relation.filter("k = 3").project("s").fetchall() == [("x",)]
    assert len(ls.find_files(name, "k = 3").paths) == 1
    with pytest.raises(UnsupportedError, match="The column v is not read without Spark"):
        rows_of(open_table(name), None).batches(Constant(value=True), ["v"])
