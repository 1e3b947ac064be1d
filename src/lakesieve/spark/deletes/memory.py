"""What equality deletes cost in memory, and what memory there is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lakesieve.spark.versions.java_classes import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOM = 0.5
"""Share of the heap that delete sets may take: beside them there must be room for the query."""


def executor(spark: SparkSession) -> tuple[int, int]:
    """Tasks at once and heap, in bytes, of one executor."""
    context = spark.sparkContext
    if re.fullmatch(r"local(\[.*\])?", str(context.master)):
        runtime = java_class(spark, "java.lang.Runtime")
        return context.defaultParallelism, int(runtime.getRuntime().maxMemory())
    conf = context.getConf()
    memory = conf.get("spark.executor.memory", "1g")
    sizes = java_class(spark, "org.apache.spark.network.util.JavaUtils")
    heap = int(sizes.byteStringAsBytes(memory))
    cores = conf.get("spark.executor.cores", None)
    if cores is None:
        # a standalone cluster gives an executor all that its worker has
        return max([1, *_tasks_of_executors(spark)]), heap
    return max(1, int(str(cores)) // int(str(conf.get("spark.task.cpus", "1")))), heap


def _tasks_of_executors(spark: SparkSession) -> list[int]:
    """Tasks at once of each executor that has registered so far."""
    context: Any = spark.sparkContext._jsc.sc()
    executors = context.statusStore().executorList(True)
    listed = (executors.apply(at) for at in range(executors.size()))
    return [int(one.maxTasks()) for one in listed if str(one.id()) != "driver"]
