"""Results on equality deletes as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.report.units import count, duration, plural, size

if TYPE_CHECKING:
    from lakesieve.spark.deletes.result import Conversion, DeleteStatus, FieldSet

__all__ = ["conversion_facts", "status_facts"]


def status_facts(result: DeleteStatus) -> list[tuple[str, str]]:
    """What a table's deletes cost, the verdict first."""
    records = plural(result.equality_records, "record")
    files = plural(result.equality_files, "file")
    reached = f"{count(result.reached_files)} of {plural(result.data_files, 'data file')}"
    task = f"{size(result.task_bytes)} a task for {plural(result.task_records, 'record')}"
    heap = f"{plural(result.executor_tasks, 'task')} share {size(result.executor_bytes)}"
    positions = plural(result.position_files, "position delete file")
    facts = [
        ("verdict", result.verdict),
        ("table", f"{result.table} (format version {result.format_version})"),
        ("version", result.version or "none yet: the table is empty"),
        ("equality deletes", f"{records} in {files}, {size(result.equality_bytes)}"),
        *((f"by {', '.join(found.columns)}", _field_set(found)) for found in result.field_sets),
        ("they reach", f"{reached}, {plural(result.pairs, 'pair')} of files"),
        ("memory", f"{task}; {heap}"),
        ("other deletes", f"{positions}, {plural(result.vectors, 'deletion vector')}"),
    ]
    if result.dangling_files:
        facts.append(("reach nothing", plural(result.dangling_files, "delete file")))
    return facts


def _field_set(found: FieldSet) -> str:
    texts = [plural(found.records, "record"), plural(found.files, "file")]
    if found.keys is not None:
        texts.insert(1, plural(found.keys, "key"))
    return ", ".join([*texts, "everywhere" if found.everywhere else "by partition"])


def conversion_facts(result: Conversion) -> list[tuple[str, str]]:
    """What a conversion did, or would do."""
    removed = plural(result.removed_files, "equality delete file")
    searched = plural(result.scanned_files, "data file")
    would = "would be " if result.dry_run else ""
    facts = [
        ("table", result.table + (f", branch {result.branch}" if result.branch else "")),
        (f"{would}removed", f"{removed}, {plural(result.removed_records, 'record')}"),
        (f"{would}searched", f"{searched}, {plural(result.scanned_rows, 'row')}"),
    ]
    if not result.dry_run:
        means = "deletion vectors" if result.format_version >= 3 else "position deletes"
        marked = f"{plural(result.positions, 'row')} in {plural(result.marked_files, 'data file')}"
        written = plural(result.written_files, "file")
        facts += [
            ("marked", f"{marked}, by {means}"),
            ("written", f"{written}, {size(result.written_bytes)}"),
        ]
    facts += [("index", str(reason)) for reason in result.reasons]
    conflicts = f", {plural(result.conflicts, 'conflict')}" if result.conflicts else ""
    return [
        *facts,
        ("commits", count(result.commits) + conflicts),
        ("time", duration(result.seconds)),
    ]
