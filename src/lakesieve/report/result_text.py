"""Results as text for a terminal: data for stdout, and messages for stderr."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from lakesieve.advisor.result import ColumnAdvice, IndexEstimate, TableAdvice
from lakesieve.demo.measurements import DemoResult
from lakesieve.index.maintenance import TableMaintenance
from lakesieve.index.reasons import ReasonCode
from lakesieve.index.result import (
    CloneResult,
    CommitInfo,
    CompactionResult,
    FileMatches,
    IndexInfo,
    RefreshResult,
    TablePruning,
    TradeOffInfo,
)
from lakesieve.index.table_info import TableInfo
from lakesieve.report.advice import COLUMN_HEADINGS, advice_text, column_cells
from lakesieve.report.command_results import (
    DroppedIndex,
    Explanation,
    IndexCheck,
    WrittenPage,
)
from lakesieve.report.demo import demo_text
from lakesieve.report.facts import facts_of
from lakesieve.report.maintenance_text import maintenance_lines
from lakesieve.report.tables import facts_table, table_of
from lakesieve.report.units import ago, count, plural, size
from lakesieve.store import Repaired, Vacuumed

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.index.reasons import Reason

_MAX_PATHS = 10


@singledispatch
def to_text(result: object) -> RenderableType:
    """Render a result model for stdout; a plain ``str`` is data, to be written unchanged."""
    return facts_table(facts_of(result))


@to_text.register
def _(result: DemoResult) -> RenderableType:
    return demo_text(result)


@to_text.register
def _(result: FileMatches) -> RenderableType:
    # one path a line and nothing else, for xargs
    return "\n".join(result.paths)


@to_text.register
def _(result: Explanation) -> RenderableType:
    found = result.found
    skipped = found.total - len(found.paths)
    files = f"{count(len(found.paths))} of {plural(found.total, 'file')}"
    facts = [
        ("table", found.table),
        ("version", found.version or "none yet: the table is empty"),
        ("predicate", found.predicate),
        *(
            [("looked up", found.condition)]
            if found.condition not in {"", "TRUE", found.predicate}
            else []
        ),
        ("read", f"{files}, {count(skipped)} skipped"),
        *([] if found.rows_total is None else [("rows of these files", _rows(found))]),
        ("without an index", f"{plural(found.left_by_format, 'file')}, {_by_format(found)}"),
        ("index", ", ".join(found.indexes) or "none used"),
    ]
    if found.uncovered:
        facts.append(("not indexed", f"{plural(found.uncovered, 'file')}, always read"))
    reasons = [line for reason in found.reasons for line in _why(reason, found.table)]
    paths = [Text(path, style="dim", overflow="fold") for path in found.paths[:_MAX_PATHS]]
    more = len(found.paths) - len(paths)
    if more:
        paths.append(Text(f"... and {more} more: lakesieve files", style="dim"))
    blocks: list[RenderableType] = [facts_table(facts)]
    for title, lines in (("Why", reasons), ("Files to read", paths)):
        if lines:
            blocks += [Text(f"\n{title}", style="bold"), Padding(Group(*lines), (0, 0, 0, 2))]
    return Group(*blocks)


def _why(reason: Reason, table: str) -> list[Text]:
    """Return a reason in words, and what to do about it."""
    lines = [Text.assemble((str(reason.code), "bold"), "  ", reason.sentence)]
    step = reason.next_step(table)
    return [*lines, Text(f"  → {step}")] if step else lines


def _rows(found: FileMatches | TablePruning) -> str:
    return f"{count(found.rows_read or 0)} of {plural(found.rows_total or 0, 'row')}"


def _by_format(found: FileMatches) -> str:
    """Say what the format's own statistics do for a predicate."""
    if any(reason.code is ReasonCode.STATISTICS_UNREAD for reason in found.reasons):
        return "as far as the format's own statistics are known"
    return "by the format's own minimum and maximum and partitions"


@to_text.register
def _(result: WrittenPage) -> RenderableType:
    indexes = plural(result.indexes, "index", "indexes")
    return f"Wrote {result.path}: {indexes} of {result.table}, {size(result.bytes)}."


@to_text.register
def _(result: DroppedIndex) -> RenderableType:
    verb = "Would drop" if result.dry_run else "Dropped"
    return f"{verb} the index {result.name} of {result.table}."


@to_text.register
def _(result: CompactionResult) -> RenderableType:
    verb = "Would merge" if result.dry_run else "Merged"
    before, after = f"{plural(result.segments_before, 'segment')}, {size(result.bytes_before)}", ""
    if result.segments is not None and result.bytes is not None:
        after = f" into {plural(result.segments, 'segment')}, {size(result.bytes)}"
    gone = result.files_before - result.files
    dropped = f" Files no longer covered: {count(gone)}." if gone else ""
    return f"{verb} {before}, of the index {result.index} of {result.table}{after}.{dropped}"


@to_text.register
def _(result: CloneResult) -> RenderableType:
    return (
        f"{result.table} has the index {result.index} of {result.origin}: it covers "
        f"{count(result.shared)} of its {plural(result.files, 'file')}."
    )


@to_text.register
def _(result: Vacuumed) -> RenderableType:
    verb = "Would delete" if result.dry_run else "Deleted"
    objects = plural(len(result.paths), "object")
    kept = f"commits from {result.retained_from} on are kept"
    clones = f"; clones use some: {', '.join(result.borrowers)}" if result.borrowers else ""
    return f"{verb} {objects}, {size(result.bytes)}; {kept}{clones}."


@to_text.register
def _(result: Repaired) -> RenderableType:
    if not result.lost:
        return f"Nothing is damaged; the index covers {plural(result.files, 'file')}."
    verb = "Would save" if result.dry_run else "Saved"
    lines = [f"{verb} what covers {plural(result.files, 'file')}. Lost:"]
    lines += [f"  {damage.path}: {damage.problem}" for damage in result.lost]
    return Text("\n".join(lines), overflow="fold")


@to_text.register
def _(result: IndexCheck) -> RenderableType:
    stored, rows = result.stored, result.rows
    wrong = [f"  {damage.path}: {damage.problem}" for damage in stored.damaged]
    wrong += [f"  {path}: the index misses keys of it" for path in (rows.wrong if rows else ())]
    checked = f"{plural(stored.commits, 'commit')}, {plural(stored.objects, 'object')}"
    state = "damaged" if stored.damaged else "as written"
    lines = [f"{checked}, {size(stored.bytes)}: {state}."]
    if rows is not None:
        verdict = "keys are missing" if rows.wrong else "every key is found"
        files = f"{plural(rows.files, 'data file')} read again"
        lines.append(f"{files}, {plural(rows.rows, 'row')}: {verdict}.")
    return Text("\n".join(lines + wrong), overflow="fold")


@to_text.register
def _(result: list) -> RenderableType:  # type: ignore[type-arg]
    if not result:
        return ""
    kind = type(result[0])
    if any(type(item) is not kind for item in result):
        raise TypeError("the list has no text form")
    if kind is CloneResult:
        return Group(*map(to_text, result))
    if kind is IndexEstimate:
        return Group(*(Padding(to_text(one), (0, 0, 1, 0)) for one in result))
    if kind is TableMaintenance:
        return Text("\n".join(maintenance_lines(result)), overflow="fold")
    if kind is TableAdvice:
        return advice_text(result)
    if kind not in TABLES:
        raise TypeError(f"a list of {kind.__name__} has no text form")
    headings, cells = TABLES[kind]
    if kind is IndexInfo and any(info.live_files is not None for info in result):
        headings, cells = _STATES
    if kind is TablePruning and any(scan.rows_read is not None for scan in result):
        headings, cells = _SCANS_OF_ROWS
    rows = table_of(headings, map(cells, result))
    if kind is not TablePruning:
        return rows
    reasons = dict.fromkeys((r, scan.table) for scan in result for r in scan.reasons)
    lines = [
        line for reason, table in reasons if reason.next_step() for line in _why(reason, table)
    ]
    return Group(rows, *([Text("")] if lines else []), *lines)


def _index(info: IndexInfo) -> tuple[str, ...]:
    counts = (count(info.files), count(info.rows), count(info.keys))
    columns = ", ".join(info.columns)
    return (info.name, columns, *counts, size(info.bytes), f"{info.bits_per_row:.2f}")


def _state(info: IndexInfo) -> tuple[str, ...]:
    """Return the row of an index whose freshness is known."""
    name, columns, _, *others = _index(info)
    since = ""
    if info.covered_files is None or info.live_files is None:
        covered = "unknown: it cannot be read"
    else:
        covered = f"{count(info.covered_files)} of {count(info.live_files)}"
        since = ago(info.committed_at)
    return (name, columns, covered, since, *others)


def _commit(commit: CommitInfo) -> tuple[str, ...]:
    return (
        str(commit.number),
        "" if commit.parent is None else str(commit.parent),
        *(commit.operation, commit.created_at, commit.table_version),
        *map(count, (commit.files, commit.segments, commit.blocks)),
        size(commit.bytes),
    )


def _refreshed(result: RefreshResult) -> tuple[str, ...]:
    note = "not done: dry run" if result.dry_run else "deltas merged" * result.compacted
    counts = map(count, (result.files, result.rows, result.covered))
    return (result.index, *counts, str(result.commit), note)


def _pruning(scan: TablePruning) -> tuple[str | Text, ...]:
    return (
        scan.table,
        *map(count, (scan.files_total, scan.files_read, scan.uncovered)),
        ", ".join(scan.indexes) or "none",
        Text(scan.predicate),
        ", ".join(dict.fromkeys(str(reason.code) for reason in scan.reasons)),
    )


def _pruning_with_rows(scan: TablePruning) -> tuple[str | Text, ...]:
    table, *files, index, condition, reasons = _pruning(scan)
    rows = "all" if scan.rows_read is None else _rows(scan)
    return (table, *files, rows, index, condition, reasons)


def _table(info: TableInfo) -> tuple[str, ...]:
    indexes = "none" if info.error is None else f"unknown: {info.error}"
    return info.name, info.format or "unknown", ", ".join(info.indexes) or indexes


def _trade_off(point: TradeOffInfo) -> tuple[str, ...]:
    return f"{point.bits_per_row:.3f}", f"{point.false_files:.2f}", point.strategy


_STATES = (
    (
        *("name", "columns", "live files covered>", "last commit>"),
        *("rows>", "keys>", "size>", "bits a row>"),
    ),
    _state,
)

_SCANS_OF_ROWS = (
    ("table", "files>", "read>", "not indexed>", "rows read>", "index", "condition", "reasons"),
    _pruning_with_rows,
)

TABLES: dict[type, tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]] = {
    IndexInfo: (("name", "columns", "files>", "rows>", "keys>", "size>", "bits a row>"), _index),
    CommitInfo: (
        (
            *("commit>", "parent>", "operation", "at", "table version"),
            *("files>", "segments>", "blocks>", "size>"),
        ),
        _commit,
    ),
    RefreshResult: (
        ("index", "files indexed>", "rows>", "covered before>", "commit>", ""),
        _refreshed,
    ),
    TablePruning: (
        ("table", "files>", "read>", "not indexed>", "index", "condition", "reasons"),
        _pruning,
    ),
    TableInfo: (("table", "format", "indexes"), _table),
    TradeOffInfo: (("bits a row>", "false files>", "strategy"), _trade_off),
    ColumnAdvice: (COLUMN_HEADINGS, column_cells),
}
"""For each result that is a row of a table: the headings, and the function that makes the cells."""
