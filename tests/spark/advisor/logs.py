"""Event logs that Spark itself writes of a session while a test runs."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["logged"]


@contextmanager
def logged(spark: SparkSession, folder: Path, **conf: str) -> Iterator[None]:
    """Log what happens meanwhile.

    Args:
        spark: The session.
        folder: Where the log goes.
        **conf: Settings of ``spark.eventLog``, dots as underscores.
    """
    folder.mkdir(parents=True, exist_ok=True)
    jvm: Any = spark._jvm
    context: Any = spark.sparkContext._jsc.sc()
    settings = context.getConf().clone()
    settings.set("spark.eventLog.enabled", "true")
    for name, value in conf.items():
        settings.set(f"spark.eventLog.{name.replace('_', '.')}", value)
    listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
        f"app-{time.time_ns()}",
        jvm.scala.Option.apply(None),
        jvm.java.net.URI(folder.as_uri()),
        settings,
        context.hadoopConfiguration(),
    )
    listener.start()
    context.addSparkListener(listener)
    try:
        yield
        context.listenerBus().waitUntilEmpty()
    finally:
        context.removeSparkListener(listener)
        listener.stop()
