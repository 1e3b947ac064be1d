"""With which settings a session reaches a location, as settings of a storage."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from lakesieve.spark.versions.java_classes import as_python
from lakesieve.storage import HADOOP_PREFIXES, TRUSTED_ROOTS, StorageOptions, trusted_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession


def storage_options(
    spark: SparkSession, file_io: Callable[[], Mapping[str, str]] | None = None
) -> StorageOptions:
    """Return the settings by which Spark's Hadoop reaches each location.

    They are read now, and again where a store refuses them, as are those of a table's own file IO.
    """
    return StorageOptions(
        conf=_hadoop_settings(spark),
        trusted=",".join(trusted_folders(str(spark.conf.get(f"spark.{TRUSTED_ROOTS}", "")))),
        file_io=file_io() if file_io else {},
        vended=file_io,
        source=partial(_hadoop_settings, spark),
    )


def _hadoop_settings(spark: SparkSession) -> dict[str, str]:
    hadoop: Any = spark._jsparkSession.sessionState().newHadoopConf()
    return {
        prefix + name: value
        for prefix in HADOOP_PREFIXES
        for name, value in as_python(spark, hadoop.getPropsWithPrefix(prefix)).items()
    }
