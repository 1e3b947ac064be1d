"""An index on S3: the executors write it, queries read it, with the settings that Hadoop has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.storage.s3_servers import BUCKET, SERVERS, hadoop_settings

import lakesieve as ls
from lakesieve.errors import NotFoundError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize("server", SERVERS)
def test_an_index_on_s3(spark: SparkSession, table: str, server: str) -> None:
    """Built, asked, refreshed, checked and dropped, with credentials from the session alone."""
    for key, value in hadoop_settings(server).items():
        spark.conf.set(key, value)
    place = f"s3a://{BUCKET}/indexes-{server}"
    spark.sql(f"CREATE TABLE {table} (id BIGINT) USING iceberg")
    spark.range(0, 4_000, 1, 8).writeTo(table).append()
    with pytest.raises(NotFoundError):
        ls.open_index(table, "id", spark=spark, location=place)
    index = ls.create_index(table, ["id"], spark=spark, location=place)
    spark.range(4_000, 4_100, 1, 1).writeTo(table).append()

    assert index.info().location.startswith(f"s3://{BUCKET}/")
    assert len(index.files("id = 5").paths) == 2
    assert index.refresh().files == 1
    assert index.verify().is_sound
    assert index.verify_rows(files=None).wrong == ()
    ls.enable(spark, locations=[place])
    assert spark.sql(f"SELECT count(*) FROM {table} WHERE id = 4050").head(1)[0][0] == 1
    (scan,) = ls.last_pruning(spark)
    assert (scan.files_total, scan.files_read, scan.indexes) == (1, 1, ("id",))
    assert spark.sql(f"SELECT count(*) FROM {table} WHERE id IN (5, 4050)").head(1)[0][0] == 2
    ls.open_index(table, "id", spark=spark, location=place).drop()
    assert ls.list_indexes(table, spark=spark, location=place) == []
    for key in hadoop_settings(server):
        spark.conf.unset(key)
