"""Report what the deletes of a table cost its readers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lakesieve.spark.deletes.read import newest_deletes
from lakesieve.spark.deletes.result import DeleteStatus, FieldSet
from lakesieve.spark.deletes.version_deletes import (
    EVERY_FILE,
    DeleteKind,
    VersionDeletes,
    deletes_of_version,
)
from lakesieve.spark.tables.jobs import own_jobs
from lakesieve.spark.versions.java_classes import java_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOM = 0.5
"""Share of the heap that delete sets may take. The rest is left for the query."""


def status(
    table: str,
    *,
    spark: SparkSession,
    version: str | int | None = None,
    count_keys: bool = True,
) -> DeleteStatus:
    """Report what the deletes of one version of a table cost its readers.

    Args:
        table: ``catalog.database.table`` or ``iceberg:PATH``.
        spark: A classic (not Connect) session, whose executors the costs are compared with.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        count_keys: Count the distinct keys. This reads every equality delete file.

    Raises:
        NotFoundError: The table or the version does not exist.
        UnsupportedError: It is not an Iceberg table, or the session is a Connect session.

    Examples:
        >>> ls.deletes.status("lake.shop.orders", spark=spark).keys
        0
    """
    deletes = deletes_of_version(spark, table, version)
    summary = deletes.summary
    with own_jobs(spark, f"lakesieve: count the deleted keys of {table}"):
        sets = tuple(_field_set(deletes, kind, count_keys=count_keys) for kind in deletes.kinds)
    tasks, heap = executor(spark)
    return DeleteStatus(
        table=table,
        version=deletes.snapshot,
        format_version=deletes.format_version,
        data_files=summary["data_files"],
        reached_files=deletes.reached_files,
        equality_files=sum(found.files for found in sets),
        equality_records=sum(found.records for found in sets),
        equality_bytes=summary["bytes"],
        dangling_files=summary["dangling"],
        keys=sum(found.keys or 0 for found in sets) if count_keys else None,
        pairs=summary["pairs"],
        position_files=summary["position_files"],
        vectors=summary["vectors"],
        task_records=summary["largest"],
        task_bytes=summary["largest_bytes"],
        executor_tasks=tasks,
        executor_bytes=heap,
        field_sets=sets,
        verdict=_verdict(summary, tasks, heap),
    )


def _field_set(deletes: VersionDeletes, kind: DeleteKind, *, count_keys: bool) -> FieldSet:
    return FieldSet(
        columns=tuple(".".join(column.path) for column in kind.columns),
        everywhere=kind.everywhere,
        files=kind.files,
        records=kind.records,
        keys=newest_deletes(deletes, kind, EVERY_FILE).count() if count_keys else None,
    )


def _verdict(summary: dict[str, Any], tasks: int, heap: int) -> str:
    if not summary["pairs"]:
        if summary["dangling"]:
            return (
                "No equality delete reaches a data file any more. convert removes the delete files."
            )
        return "The table has no equality deletes."
    needed = summary["largest_bytes"] * min(tasks, summary["reached_files"])
    share = f"{needed / heap:.0%} of an executor's heap" if needed >= heap / 100 else "little heap"
    if needed > heap:
        return (
            f"Iceberg's own reader would run out of memory ({share}). Use deletes.read or convert."
        )
    if needed > ROOM * heap:
        return f"Iceberg's own reader is short of memory ({share}). Convert soon."
    return f"Iceberg's own reader has enough memory ({share}). convert makes reading faster."


def executor(spark: SparkSession) -> tuple[int, int]:
    """Return how many tasks one executor runs at once, and its heap in bytes."""
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
        # a standalone cluster gives an executor all cores of its worker
        return max([1, *_tasks_of_executors(spark)]), heap
    return max(1, int(str(cores)) // int(str(conf.get("spark.task.cpus", "1")))), heap


def _tasks_of_executors(spark: SparkSession) -> list[int]:
    """Return how many tasks each executor that has registered so far runs at once."""
    context: Any = spark.sparkContext._jsc.sc()
    executors = context.statusStore().executorList(True)
    executor_infos = (executors.apply(at) for at in range(executors.size()))
    return [int(one.maxTasks()) for one in executor_infos if str(one.id()) != "driver"]
