"""Translate a session's settings for a location to storage options."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from lakesieve.spark.versions.java_classes import as_python
from lakesieve.storage import HADOOP_PREFIXES, TRUSTED_ROOTS, StorageOptions, trusted_folders

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession


def storage_options(
    spark: SparkSession,
    file_io: Callable[[], Mapping[str, str]] | None = None,
    *,
    hadoop: Callable[[], Any] | None = None,
) -> StorageOptions:
    """Return the settings with which Spark's Hadoop reaches each location.

    They are read now, and again if a store refuses them. ``hadoop`` returns the ``Configuration``
    of a table, and ``file_io`` the properties of its own file IO. Without these functions, the
    session's settings are used.
    """
    source = partial(_hadoop_settings, spark, hadoop)
    return StorageOptions(
        conf=source(),
        trusted=",".join(trusted_folders(str(spark.conf.get(f"spark.{TRUSTED_ROOTS}", "")))),
        file_io=file_io() if file_io else {},
        vended=file_io,
        source=source,
    )


def _hadoop_settings(spark: SparkSession, hadoop: Callable[[], Any] | None) -> dict[str, str]:
    conf: Any = hadoop() if hadoop else spark._jsparkSession.sessionState().newHadoopConf()
    return {
        prefix + name: value
        for prefix in HADOOP_PREFIXES
        for name, value in as_python(spark, conf.getPropsWithPrefix(prefix)).items()
    }
