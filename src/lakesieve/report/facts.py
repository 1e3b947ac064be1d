"""Results as lines of a name and a value: what one index, one change or one check came to."""

from __future__ import annotations

import shlex
from functools import singledispatch
from typing import TYPE_CHECKING

from lakesieve.advisor.result import IndexEstimate
from lakesieve.index.key_results import KeyCheck
from lakesieve.index.result import IndexInfo, RowChange
from lakesieve.index.table_info import TableStatus
from lakesieve.report.advice import between
from lakesieve.report.command_results import AbsentKeys, DuplicateKeys, ServerCheck
from lakesieve.report.units import ago, count, duration, figure, percent, plural, size, unit_name
from lakesieve.spark.deletes.result import Conversion, DeleteStatus, FieldSet
from lakesieve.spark.extension.result import EXTENSION, JarInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

Facts = list[tuple[str, str]]
_EMPTY = "none yet: the table is empty"
# rows that are shown even if there are none
_ALWAYS = {
    "upsert": ("inserted", "updated"),
    "delete": ("deleted",),
    "insert-new": ("inserted",),
}


@singledispatch
def facts_of(result: object) -> Facts:
    """Return the lines of a result."""
    raise TypeError(f"{type(result).__name__} has no text form")


@facts_of.register
def _(result: IndexInfo) -> Facts:
    columns = zip(result.columns, result.types, strict=True)
    return [
        ("index", result.name),
        ("table", f"{result.table} ({result.table_format})"),
        ("columns", ", ".join(f"{name} {type_}" for name, type_ in columns)),
        ("location", result.location),
        ("created", result.created_at),
        ("commit", ", ".join(filter(None, (str(result.commit), ago(result.committed_at))))),
        ("table version", result.table_version or _EMPTY),
        *_freshness(result),
        ("covers", f"{plural(result.files, 'file')}, {plural(result.rows, 'row')}"),
        ("keys", count(result.keys)),
        ("unit", unit_name(result.rows_per_block)),
        ("key-unit pairs" if result.rows_per_block else "key-file pairs", count(result.pairs)),
        ("blocks", f"{count(result.blocks)} in {plural(result.segments, 'segment')}"),
        ("size", f"{size(result.bytes)}, {result.bits_per_row:.2f} bits a row"),
        ("budget", result.budget or "none: exact"),
        ("compaction", result.compaction),
    ]


def _freshness(result: IndexInfo) -> Facts:
    """Say how many of the table's data files an index covers now, where that is known."""
    if result.live_files is None or result.covered_files is None:
        return []
    files = f"{count(result.covered_files)} of {plural(result.live_files, 'live data file')}"
    missing = result.live_files - result.covered_files
    if not missing:
        return [("fresh", f"yes: {files}")]
    step = f"lakesieve refresh {shlex.quote(result.table)} {shlex.quote(result.name)}"
    return [("fresh", f"no: {files}; queries read the other {count(missing)} until: {step}")]


@facts_of.register
def _(result: IndexEstimate) -> Facts:
    tried = plural(result.sampled_files, "data file")
    files = plural(result.files, "data file")
    whole = "all of them" if result.sampled_files == result.files else tried
    size_ = between(result.index_bytes, "bytes")
    bits = 8 * result.index_bytes.value / result.rows if result.rows else 0.0
    then, now = (figure(value, "files") for value in (result.files_then, result.files_now))
    return [
        ("index", f"{', '.join(result.columns)} (not built)"),
        ("table", f"{result.table}: {files}, {plural(result.rows, 'row')}"),
        ("unit", unit_name(result.rows_per_block)),
        ("size", f"{size_}, about {bits:.2f} bits a row"),
        ("build", between(result.build_seconds, "seconds")),
        ("refresh", f"{between(result.refresh_seconds, 'seconds')} after one more data file"),
        ("one key reads", f"{then} data files on average; {now} without the index"),
        ("budget", result.budget or "none: exact"),
        ("trials", f"over {whole}, then deleted"),
    ]


@facts_of.register
def _(result: ServerCheck) -> Facts:
    return [
        ("table", result.table),
        ("server", result.address),
        ("scans are planned by", result.planned_by),
        ("the server can plan", "yes" if result.plans else "no"),
        ("data files", count(result.files)),
        ("reasons", ", ".join(result.reasons) or "none"),
        ("plan of all rows", f"{result.milliseconds:,.1f} ms"),
    ]


@facts_of.register
def _(result: JarInfo) -> Facts:
    return [
        ("jar", result.path),
        ("size", f"{size(result.size)}, {plural(result.classes, 'class', 'classes')}"),
        (
            "Spark",
            result.spark if result.tested else f"{result.spark}, on which lakesieve is untested",
        ),
        ("formats", ", ".join(result.formats)),
        ("spark.jars", result.path),
        ("spark.sql.extensions", f"{EXTENSION}, behind those that are set"),
        ("spark.lakesieve.python", "a Python with lakesieve on the driver; python3 if not set"),
    ]


@facts_of.register
def _(result: RowChange) -> Facts:
    would = "would be " if result.dry_run else ""
    keys = f"{plural(result.keys, 'key')} by {', '.join(result.on)}"
    facts = [("table", result.table), ("given", keys)]
    if result.known:
        return [*facts, ("done", "nothing: the transaction was committed before")]
    facts += [
        (f"{would}{what}", plural(number, "row"))
        for what, number in (
            ("inserted", result.inserted),
            ("updated", result.updated),
            ("deleted", result.deleted),
        )
        if number or (number == 0 and what in _ALWAYS[result.operation])
    ]
    if result.operation == "insert-new" and result.inserted is not None:
        facts.append(("there already", plural(result.keys - result.inserted, "row")))
    if result.dry_run:
        return [*facts, ("in", plural(result.files_read or 0, "data file"))]
    if result.files_read is not None:
        facts.append(("searched", plural(result.files_read, "data file")))
    files = [
        f"{count(number)} {what}"
        for what, number in (("written", result.files_added), ("removed", result.files_removed))
        if number is not None
    ]
    indexed = ", ".join(f"{one.index}: {plural(one.files, 'file')}" for one in result.refreshed)
    return [
        *facts,
        ("files", ", ".join(files) or "unknown"),
        ("version", result.version or "none: nothing had to be changed"),
        *([("indexed", indexed)] if indexed else []),
        *(("index", str(reason)) for reason in result.reasons),
        ("time", duration(result.seconds)),
    ]


@facts_of.register
def _(result: TableStatus) -> Facts:
    share = percent(result.marked_files, result.files) if result.files else "0 %"
    marked = f"{count(result.marked_files)} of {plural(result.files, 'data file')}, {share}"
    facts = [
        ("table", f"{result.table} ({result.format})"),
        ("version", result.version or _EMPTY),
        (f"with {result.form}", marked),
    ]
    if result.delete_files:
        facts.append(("kept in", plural(result.delete_files, "position delete file")))
    if not result.suggestions:
        return [*facts, ("upkeep", f"not due (suggested above {percent(result.threshold, 1)})")]
    return facts + [("suggested", text) for text in result.suggestions]


@facts_of.register
def _(result: DeleteStatus) -> Facts:
    records = plural(result.equality_records, "record")
    files = plural(result.equality_files, "file")
    reached = f"{count(result.reached_files)} of {plural(result.data_files, 'data file')}"
    task = f"{size(result.task_bytes)} a task for {plural(result.task_records, 'record')}"
    heap = f"{plural(result.executor_tasks, 'task')} share {size(result.executor_bytes)}"
    positions = plural(result.position_files, "position delete file")
    facts = [
        ("verdict", result.verdict),
        ("table", f"{result.table} (format version {result.format_version})"),
        ("version", result.version or _EMPTY),
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


@facts_of.register
def _(result: Conversion) -> Facts:
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
    conflicts = f", {plural(result.conflicts, 'conflict')}" if result.conflicts else ""
    return [
        *facts,
        *(("index", str(reason)) for reason in result.reasons),
        ("commits", count(result.commits) + conflicts),
        ("time", duration(result.seconds)),
    ]


@facts_of.register
def _(result: AbsentKeys) -> Facts:
    others = result.keys - result.absent
    facts = [
        ("table", result.table),
        ("version", result.version or _EMPTY),
        ("index", result.index),
        ("given", plural(result.keys, "key")),
        ("absent", count(result.absent)),
        ("present" if result.confirmed else "possible", count(others)),
        ("in", f"{count(result.named_files)} of {plural(result.files, 'data file')}"),
    ]
    if result.uncovered:
        facts.append(("uncovered", f"{plural(result.uncovered, 'data file')} no index has seen"))
    return facts + _listed("absent are", result.examples, result.absent)


@facts_of.register
def _(result: DuplicateKeys) -> Facts:
    pairs = zip(result.keys, result.rows, strict=True)
    shown = [(*key, f"({count(rows)} rows)") for key, rows in pairs]
    return [
        ("table", result.table),
        ("version", result.version or _EMPTY),
        ("in several rows", f"{plural(result.count, 'key')} by {', '.join(result.on)}"),
        _searched(result.files_read, result.files, result.index),
        *_listed("these are", shown, result.count),
    ]


@facts_of.register
def _(result: KeyCheck) -> Facts:
    columns, holds = ", ".join(result.on), "yes" if result.holds else "no"
    if result.parent is None:
        about = ("unique", f"{columns}: {holds}")
        broken, what = "in several rows", "these are"
    else:
        target = f"{result.parent} ({', '.join(result.parent_columns)})"
        about = ("refers to", f"{columns} to {target}: {holds}")
        broken, what = "missing there", "missing are"
    facts = [("table", result.table), about]
    if result.violations:
        facts.append((broken, plural(result.violations, "key")))
    if result.files_read is not None:
        facts.append(_searched(result.files_read, result.files, result.index))
    facts += _listed(what, result.examples, result.violations)
    return [*facts, ("time", duration(result.seconds))]


def _searched(read: int, files: int, index: str | None) -> tuple[str, str]:
    by = f", by the index {index}" if index else ", no index helps"
    return ("searched", f"{count(read)} of {plural(files, 'data file')}{by}")


def _listed(title: str, keys: Sequence[Sequence[str]], total: int) -> Facts:
    facts = [(title if at == 0 else "", ", ".join(key)) for at, key in enumerate(keys)]
    if keys and len(keys) < total:
        facts.append(("", f"... and {count(total - len(keys))} more"))
    return facts
