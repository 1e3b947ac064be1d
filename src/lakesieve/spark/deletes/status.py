"""What the deletes of a table cost those who read it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.spark.deletes.memory import ROOM, executor
from lakesieve.spark.deletes.plan import EVERY_FILE, DeletePlan, Kind, plan_deletes
from lakesieve.spark.deletes.read import newest_deletes
from lakesieve.spark.deletes.result import DeleteStatus, FieldSet
from lakesieve.spark.tables.jobs import own_jobs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def status(
    table: str,
    *,
    spark: SparkSession,
    version: str | int | None = None,
    count_keys: bool = True,
) -> DeleteStatus:
    """Tell what the deletes of one version of a table cost its readers.

    Args:
        table: ``catalog.database.table`` or ``iceberg:PATH``.
        spark: A classic (not Connect) session; its executors are those compared with.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        count_keys: Count the distinct keys, which reads every equality delete file.

    Raises:
        NotFoundError: There is no such table or version.
        UnsupportedError: It is not an Iceberg table, or the session is a Connect session.
    """
    plan = plan_deletes(spark, table, version)
    summary = plan.summary
    with own_jobs(spark, f"lakesieve: count the deleted keys of {table}"):
        sets = tuple(_field_set(plan, kind, count_keys=count_keys) for kind in plan.kinds)
    tasks, heap = executor(spark)
    return DeleteStatus(
        table=table,
        version=plan.snapshot,
        format_version=summary["format_version"],
        data_files=summary["data_files"],
        reached_files=summary["reached_files"],
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


def _field_set(plan: DeletePlan, kind: Kind, *, count_keys: bool) -> FieldSet:
    return FieldSet(
        columns=tuple(".".join(column.path) for column in kind.columns),
        everywhere=kind.everywhere,
        files=kind.files,
        records=kind.records,
        keys=newest_deletes(plan, kind, EVERY_FILE).count() if count_keys else None,
    )


def _verdict(summary: dict[str, Any], tasks: int, heap: int) -> str:
    if not summary["pairs"]:
        if summary["dangling"]:
            return "No equality delete reaches a data file any more: convert removes their files."
        return "The table has no equality deletes."
    needed = summary["largest_bytes"] * min(tasks, summary["reached_files"])
    share = f"{needed / heap:.0%} of an executor's heap" if needed >= heap / 100 else "little heap"
    if needed > heap:
        return f"Iceberg's own reader would run out of memory ({share}): read or convert here."
    if needed > ROOM * heap:
        return f"Iceberg's own reader is short of memory ({share}): convert soon."
    return f"Iceberg's own reader copes ({share}); convert makes reading faster."
