"""Paths of Delta's log get the same form as in Delta for Spark and in Java."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
from tests.depth import depth

from lakesieve.errors import UnsupportedError
from lakesieve.spark.versions.java_classes import java_class
from lakesieve.tables.delta.logged_paths import canonical_paths, check_spellings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_CASES = depth("LOGGED_PATHS", test=200, soak=3000)
_PARTS = (
    *("a", "b", "ä", "é", "日", "%20", "%c3%a4", "%C3%A4", "%25", "%2F", "%2e", "%00"),
    *("/", "//", "./", "../", ".", ":", "+", "=", "'", "?", "#", " ", "\x80"),
    *("file:", "file:/", "file:///", "FILE:/", "s3://b/", "S3://B/"),
)


def _texts(*paths: str) -> pa.ChunkedArray:
    return pa.chunked_array([list(paths)], pa.string())


def test_paths_are_those_of_spark(spark: SparkSession) -> None:
    """A path that is not refused has the form that Hadoop and Java give it."""
    uri = java_class(spark, "java.net.URI")
    hadoop = java_class(spark, "org.apache.hadoop.fs.Path")
    files = java_class(spark, "org.apache.hadoop.fs.FileSystem")
    local = files.get(java_class(spark, "org.apache.hadoop.conf.Configuration")())
    drawn = random.Random(7)
    kept = []
    for _ in range(_CASES):
        path = "".join(drawn.choices(_PARTS, k=drawn.randint(1, 6)))
        try:
            (found,) = canonical_paths(_texts(path), "t").to_pylist()
        except UnsupportedError:
            continue
        java = hadoop(uri(path))
        if java.isAbsoluteAndSchemeAuthorityNull():
            java = local.makeQualified(java)
        assert found == java.toUri().toString(), path
        kept.append(found)
    assert len(kept) > _CASES // 10
    for _ in range(_CASES):
        pair = drawn.sample(kept, 2)
        is_one = pair[0] != pair[1] and uri(pair[0]).equals(uri(pair[1]))
        try:
            check_spellings(_texts(*pair), "t")
        except UnsupportedError:
            assert is_one, pair
        else:
            assert not is_one, pair
