"""What equality deletes cost in memory, and what memory there is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["ROOM", "executor"]

ROOM = 0.5
"""Share of the heap that delete sets may take: beside them there must be room for the query."""


def executor(spark: SparkSession) -> tuple[int, int]:
    """Tasks at once and heap, in bytes, of one executor."""
    jvm: Any = spark._jvm
    context = spark.sparkContext
    if str(context.master).startswith("local"):
        return context.defaultParallelism, int(jvm.java.lang.Runtime.getRuntime().maxMemory())
    conf = context.getConf()
    memory = conf.get("spark.executor.memory", "1g")
    heap = int(jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(memory))
    slots = int(str(conf.get("spark.executor.cores", "1")))
    return max(1, slots // int(str(conf.get("spark.task.cpus", "1")))), heap
