"""With which settings a session's Hadoop reaches a location, as settings of a storage."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from lakesieve.storage import hadoop_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

__all__ = ["storage_options"]


def storage_options(spark: SparkSession) -> Callable[[str], dict[str, str]]:
    """Tells with which settings a location is reached: those that Spark's Hadoop has for it.

    Args:
        spark: The session; its settings are read once, here.
    """
    hadoop: Any = spark._jsparkSession.sessionState().newHadoopConf()
    conf = {f"fs.s3a.{name}": str(v) for name, v in hadoop.getPropsWithPrefix("fs.s3a.").items()}
    return partial(hadoop_options, conf)
