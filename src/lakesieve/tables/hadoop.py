"""With which settings a session's Hadoop reaches a location, as settings of a storage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakesieve.storage import hadoop_options
from lakesieve.tables.janino import as_python

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import SparkSession

__all__ = ["SessionOptions", "storage_options"]


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Tells with which settings a location is reached; equal ones tell the same.

    Args:
        conf: Hadoop's settings.
    """

    conf: Mapping[str, str]

    def __call__(self, location: str) -> dict[str, str]:
        """Settings for one location."""
        return hadoop_options(self.conf, location)


def storage_options(spark: SparkSession) -> SessionOptions:
    """Tells with which settings a location is reached: those that Spark's Hadoop has for it.

    Args:
        spark: The session; its settings are read once, here.
    """
    hadoop: Any = spark._jsparkSession.sessionState().newHadoopConf()
    told = as_python(spark, hadoop.getPropsWithPrefix("fs.s3a."))
    return SessionOptions({f"fs.s3a.{name}": value for name, value in told.items()})
