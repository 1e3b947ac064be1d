"""The jar of Java helpers that the tests use inside Spark; it is built with lakesieve's own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from lakesieve.spark.tables import FORMATS
from lakesieve.spark.versions.jar import add_jar, own_class
from lakesieve.spark.versions.java_classes import has_class, java_class
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["check_adapters", "helper_class"]

_ADAPTERS = {
    "delta": "delta.DeltaScans",
    "hudi": "hudi.HudiScans",
    "iceberg": "iceberg.IcebergScans",
    "parquet": "folders.ParquetScans",
}

_TARGET = Path(__file__).parents[2] / "jvm" / "target"
_LOADED: WeakSet[Any] = WeakSet()


def helper_class(spark: SparkSession, name: str) -> Any:
    """A Java class of the tests, by its name in the package ``lakesieve.testing``."""
    gateway = spark.sparkContext._gateway
    if gateway not in _LOADED:
        # what it links to comes first
        own_class(spark, "LakesieveExtensions")
        version = spark_version_of(spark.version).jar
        add_jar(spark, _TARGET / f"spark-{version}" / f"lakesieve-spark-{version}-tests.jar")
        _LOADED.add(gateway)
    return java_class(spark, f"lakesieve.testing.{name}")


def check_adapters(spark: SparkSession) -> set[str]:
    """Have the adapters of all formats that a session reads look up their private members.

    Returns:
        The names of the formats.
    """
    names = {name for name, spec in FORMATS.items() if has_class(spark, spec.runtime)}
    for name in names:
        own_class(spark, _ADAPTERS[name])().check()
    return names
