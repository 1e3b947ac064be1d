"""An index on S3: the executors write it, queries read it, with the settings that Hadoop has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.storage.s3_servers import BUCKET, SERVERS, hadoop_settings

import lakesieve as ls
from lakesieve.errors import NotFoundError, UnsupportedError
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.storage import open_storage

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.in_time("moto")
@pytest.mark.parametrize("server", SERVERS)
def test_an_index_on_s3(spark: SparkSession, table: str, server: str) -> None:
    """Built, queried, refreshed, checked and dropped, with credentials from the session alone."""
    for key, value in hadoop_settings(server).items():
        spark.conf.set(key, value)
    location = f"s3a://{BUCKET}/indexes-{server}"
    spark.sql(f"CREATE TABLE {table} (id BIGINT) USING iceberg")
    spark.range(0, 4_000, 1, 8).writeTo(table).append()
    with pytest.raises(NotFoundError):
        ls.open_index(table, "id", spark=spark, location=location)
    index = ls.create_index(table, ["id"], spark=spark, location=location)
    spark.range(4_000, 4_100, 1, 1).writeTo(table).append()

    assert index.info().location.startswith(f"s3://{BUCKET}/")
    found = index.files("id IN (5, 4050)")
    assert (len(found.paths), found.uncovered) == (2, 1)
    assert index.refresh().files == 1
    assert index.verify().is_sound
    assert index.verify_rows(files=None).wrong == ()
    ls.enable(spark, locations=[location])
    assert spark.sql(f"SELECT count(*) FROM {table} WHERE id = 4050").head(1)[0][0] == 1
    (scan,) = ls.last_pruning(spark)
    assert (scan.files_total, scan.files_read, scan.indexes) == (1, 1, ("id",))
    assert spark.sql(f"SELECT count(*) FROM {table} WHERE id IN (5, 4050)").head(1)[0][0] == 2
    ls.open_index(table, "id", spark=spark, location=location).drop()
    assert ls.list_indexes(table, spark=spark, location=location) == []
    for key in hadoop_settings(server):
        spark.conf.unset(key)


def test_settings_of_icebergs_own_file_io(spark: SparkSession, tmp_path: Path) -> None:
    """A catalog's settings for its files are used for the index, too."""
    result = hadoop_settings(SERVERS[0])
    catalog = "spark.sql.catalog.filed"
    settings = {
        catalog: "org.apache.iceberg.spark.SparkCatalog",
        f"{catalog}.type": "hadoop",
        f"{catalog}.warehouse": str(tmp_path),
        f"{catalog}.s3.endpoint": result["fs.s3a.endpoint"],
        f"{catalog}.s3.access-key-id": result["fs.s3a.access.key"],
        f"{catalog}.s3.secret-access-key": result["fs.s3a.secret.key"],
        f"{catalog}.s3.path-style-access": "true",
        f"{catalog}.client.region": "us-east-1",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    location, table = f"s3a://{BUCKET}/filed", "filed.t.x"
    spark.sql(f"CREATE TABLE {table} (id BIGINT) USING iceberg")
    spark.range(0, 800, 1, 8).writeTo(table).append()

    index = ls.create_index(table, ["id"], spark=spark, location=location)
    spark.range(800, 900, 1, 1).writeTo(table).append()
    assert index.refresh().files == 1
    assert index.verify_rows(files=None).wrong == ()
    found = ls.find_files(table, "id = 805", spark=spark, location=location)
    assert (len(found.paths), found.uncovered) == (1, 0)
    ls.enable(spark, locations=[location])
    assert spark.table(table).where("id IN (5, 805)").count() == 2
    (scan,) = ls.last_pruning(spark)
    assert (scan.files_total, scan.files_read, scan.indexes) == (2, 2, ("id",))
    assert spark.table(table).where("id = 805 OR id = -1").count() == 1
    ls.disable(spark)
    spark.sql(f"DROP TABLE {table}")


def test_keys_that_have_changed_are_read_again(spark: SparkSession) -> None:
    """If the store refuses the old keys, the session's new keys are used."""
    spark.conf.set("fs.s3a.access.key", "first")
    options = storage_options(spark)
    assert options("s3a://b/x")["access_key_id"] == "first"
    spark.conf.set("fs.s3a.access.key", "second")

    assert options("s3a://b/x")["access_key_id"] == "first"
    assert options.renewed("s3a://b/x")["access_key_id"] == "second"
    spark.conf.unset("fs.s3a.access.key")


def test_places_that_a_session_trusts(spark: SparkSession) -> None:
    """The session's list of trusted places is passed to every storage."""
    spark.conf.set("spark.lakesieve.trusted.roots", "s3://other/indexes")
    known = storage_options(spark)("s3a://b/wh")
    spark.conf.unset("spark.lakesieve.trusted.roots")

    storage = open_storage("s3a://b/wh/db/t/_lakesieve/x", known)
    assert storage.at("s3://other/indexes/y").location == "s3://other/indexes/y"
    with pytest.raises(UnsupportedError, match="trusted"):
        storage.at("s3://other/y")


@pytest.mark.skipif("versity" not in SERVERS, reason="moto takes every key")
def test_queries_take_up_new_keys(spark: SparkSession, table: str) -> None:
    """After keys expired and the session got new ones, the next query skips files again."""
    settings = hadoop_settings("versity")
    location = f"s3a://{BUCKET}/renewed"
    for key, value in settings.items():
        spark.conf.set(key, value)
    spark.sql(f"CREATE TABLE {table} (id BIGINT) USING iceberg")
    rows = spark.range(0, 800, 1, 4).selectExpr("id * 37 % 800 AS id")
    rows.writeTo(table).append()
    index = ls.create_index(table, ["id"], spark=spark, location=location)
    # as if the first keys had expired between the two
    spark.conf.set("fs.s3a.access.key", "expired")
    ls.enable(spark, locations=[location])
    known = installed_rule(spark).planner.options
    assert known is not None
    assert known(location)["access_key_id"] == "expired"
    spark.conf.set("fs.s3a.access.key", settings["fs.s3a.access.key"])

    assert spark.table(table).where("id = 5").count() == 1
    (scan,) = ls.last_pruning(spark)
    assert (scan.files_read, scan.indexes) == (1, ("id",))
    assert scan.files_total > 1
    ls.disable(spark)
    index.drop()
    for key in settings:
        spark.conf.unset(key)
