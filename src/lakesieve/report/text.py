"""Result models as text for a terminal: what stdout shows, and what is said beside it."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lakesieve.advisor.result import ColumnAdvice, TableAdvice
from lakesieve.demo.result import DemoResult
from lakesieve.index.key_results import KeyCheck
from lakesieve.index.maintenance import TableMaintenance
from lakesieve.index.reasons import ReasonCode
from lakesieve.index.result import (
    Cloned,
    CommitInfo,
    Compacted,
    Found,
    IndexInfo,
    Refreshed,
    RowChange,
    TablePruning,
    TableStatus,
    TradeOffInfo,
)
from lakesieve.report import units
from lakesieve.report.advice import advice_text, columns_text
from lakesieve.report.by_key import change_facts, table_status_facts
from lakesieve.report.deletes import conversion_facts, status_facts
from lakesieve.report.demo import demo_text
from lakesieve.report.keys import duplicate_facts, key_check_facts, keys_found_facts
from lakesieve.report.maintenance import maintenance_lines
from lakesieve.report.result import (
    Checked,
    Dropped,
    DuplicateKeys,
    Explained,
    KeysFound,
    PageWritten,
    ServerCheck,
)
from lakesieve.report.tables import plain_table
from lakesieve.spark.deletes.result import Conversion, DeleteStatus
from lakesieve.spark.extension.result import EXTENSION, JarInfo
from lakesieve.store import Repaired, Vacuumed

if TYPE_CHECKING:
    from collections.abc import Iterable

_MAX_PATHS = 10


@singledispatch
def to_text(result: object) -> RenderableType:
    """Render a result model for stdout; a plain ``str`` is data, to be written unchanged."""
    raise TypeError(f"{type(result).__name__} has no text form")


@to_text.register
def _(result: DemoResult) -> RenderableType:
    return demo_text(result)


@to_text.register
def _(result: Found) -> RenderableType:
    # one path a line and nothing else, for xargs
    return "\n".join(result.paths)


@to_text.register
def _(result: Explained) -> RenderableType:
    found = result.found
    skipped = found.total - len(found.paths)
    files = f"{units.count(len(found.paths))} of {units.plural(found.total, 'file')}"
    facts = [
        ("table", found.table),
        ("version", found.version or "none yet: the table is empty"),
        ("predicate", found.predicate),
        ("read", f"{files}, {units.count(skipped)} skipped"),
        ("without an index", f"{units.plural(found.left_by_format, 'file')}, {_by_format(found)}"),
        ("index", ", ".join(found.indexes) or "none used"),
    ]
    if found.uncovered:
        facts.append(("uncovered", f"{units.plural(found.uncovered, 'file')} no index has seen"))
    reasons = [Text.assemble((str(r.code), "bold"), "  ", r.detail) for r in found.reasons]
    paths = [Text(path, style="dim", overflow="fold") for path in found.paths[:_MAX_PATHS]]
    more = len(found.paths) - len(paths)
    if more:
        paths.append(Text(f"... and {more} more: lakesieve files", style="dim"))
    blocks: list[RenderableType] = [_facts(facts)]
    for title, lines in (("Why", reasons), ("Files to read", paths)):
        if lines:
            blocks += [Text(f"\n{title}", style="bold"), Padding(Group(*lines), (0, 0, 0, 2))]
    return Group(*blocks)


def _by_format(found: Found) -> str:
    """What the format's own statistics do for a predicate."""
    if any(reason.code is ReasonCode.STATISTICS_UNREAD for reason in found.reasons):
        return "as far as the format's own statistics are known"
    return "by the format's own minimum and maximum and partitions"


@to_text.register
def _(result: IndexInfo) -> RenderableType:
    columns = zip(result.columns, result.types, strict=True)
    return _facts(
        [
            ("index", result.name),
            ("table", f"{result.table} ({result.table_format})"),
            ("columns", ", ".join(f"{name} {type_}" for name, type_ in columns)),
            ("location", result.location),
            ("created", result.created_at),
            ("commit", str(result.commit)),
            ("table version", result.table_version or "none yet: the table is empty"),
            ("covers", f"{units.plural(result.files, 'file')}, {units.plural(result.rows, 'row')}"),
            ("keys", units.count(result.keys)),
            ("key-file pairs", units.count(result.pairs)),
            (
                "blocks",
                f"{units.count(result.blocks)} in {units.plural(result.segments, 'segment')}",
            ),
            ("size", f"{units.size(result.bytes)}, {result.bits_per_row:.2f} bits a row"),
            ("budget", result.budget or "none: exact"),
            ("compaction", result.compaction),
        ]
    )


@to_text.register
def _(result: DeleteStatus) -> RenderableType:
    return _facts(status_facts(result))


@to_text.register
def _(result: Conversion) -> RenderableType:
    return _facts(conversion_facts(result))


@to_text.register
def _(result: ServerCheck) -> RenderableType:
    return _facts(
        [
            ("table", result.table),
            ("server", result.address),
            ("scans are planned by", result.planned_by),
            ("the server can plan", "yes" if result.plans else "no"),
            ("data files", f"{result.files:,}"),
            ("reasons", ", ".join(result.reasons) or "none"),
            ("plan of all rows", f"{result.milliseconds:,.1f} ms"),
        ]
    )


@to_text.register
def _(result: JarInfo) -> RenderableType:
    facts = [
        ("jar", result.path),
        ("size", f"{units.size(result.size)}, {units.plural(result.classes, 'class', 'classes')}"),
        ("Spark", result.spark),
        ("formats", ", ".join(result.formats)),
        ("spark.jars", result.path),
        ("spark.sql.extensions", f"{EXTENSION}, behind those that are set"),
        ("spark.lakesieve.python", "a Python with lakesieve on the driver; python3 if not set"),
    ]
    return _facts(facts)


@to_text.register
def _(result: PageWritten) -> RenderableType:
    indexes = units.plural(result.indexes, "index", "indexes")
    return f"Wrote {result.path}: {indexes} of {result.table}, {units.size(result.bytes)}."


@to_text.register
def _(result: Dropped) -> RenderableType:
    verb = "Would drop" if result.dry_run else "Dropped"
    return f"{verb} the index {result.name} of {result.table}."


@to_text.register
def _(result: Compacted) -> RenderableType:
    verb = "Would merge" if result.dry_run else "Merged"
    size = units.size(result.bytes_before)
    after = ""
    if result.segments is not None and result.bytes is not None:
        after = f" into {units.plural(result.segments, 'segment')}, {units.size(result.bytes)}"
    gone = result.files_before - result.files
    dropped = f" Files no longer covered: {units.count(gone)}." if gone else ""
    return (
        f"{verb} {units.plural(result.segments_before, 'segment')}, {size}, of the index "
        f"{result.index} of {result.table}{after}.{dropped}"
    )


@to_text.register
def _(result: RowChange) -> RenderableType:
    return _facts(change_facts(result))


@to_text.register
def _(result: KeysFound) -> RenderableType:
    return _facts(keys_found_facts(result))


@to_text.register
def _(result: DuplicateKeys) -> RenderableType:
    return _facts(duplicate_facts(result))


@to_text.register
def _(result: KeyCheck) -> RenderableType:
    return _facts(key_check_facts(result))


@to_text.register
def _(result: TableStatus) -> RenderableType:
    return _facts(table_status_facts(result))


@to_text.register
def _(result: Cloned) -> RenderableType:
    return (
        f"{result.table} has the index {result.index} of {result.origin}: it covers "
        f"{units.count(result.shared)} of its {units.plural(result.files, 'file')}."
    )


@to_text.register
def _(result: Vacuumed) -> RenderableType:
    verb = "Would delete" if result.dry_run else "Deleted"
    objects = units.plural(len(result.paths), "object")
    kept = f"commits from {result.retained_from} on are kept"
    clones = f"; clones use some: {', '.join(result.borrowers)}" if result.borrowers else ""
    return f"{verb} {objects}, {units.size(result.bytes)}; {kept}{clones}."


@to_text.register
def _(result: Repaired) -> RenderableType:
    if not result.lost:
        return f"Nothing is damaged; the index covers {units.plural(result.files, 'file')}."
    verb = "Would save" if result.dry_run else "Saved"
    lines = [f"{verb} what covers {units.plural(result.files, 'file')}. Lost:"]
    lines += [f"  {damage.path}: {damage.problem}" for damage in result.lost]
    return Text("\n".join(lines), overflow="fold")


@to_text.register
def _(result: Checked) -> RenderableType:
    stored, rows = result.stored, result.rows
    wrong = [f"  {damage.path}: {damage.problem}" for damage in stored.damaged]
    wrong += [f"  {path}: the index misses keys of it" for path in (rows.wrong if rows else ())]
    checked = f"{units.plural(stored.commits, 'commit')}, {units.plural(stored.objects, 'object')}"
    state = "damaged" if stored.damaged else "as written"
    lines = [f"{checked}, {units.size(stored.bytes)}: {state}."]
    if rows is not None:
        verdict = "keys are missing" if rows.wrong else "every key is found"
        lines.append(
            f"{units.plural(rows.files, 'data file')} read again, "
            f"{units.plural(rows.rows, 'row')}: {verdict}."
        )
    return Text("\n".join(lines + wrong), overflow="fold")


@to_text.register
def _(result: list) -> RenderableType:  # type: ignore[type-arg]
    if not result:
        return ""
    if all(isinstance(item, IndexInfo) for item in result):
        return _indexes(result)
    if all(isinstance(item, CommitInfo) for item in result):
        return _commits(result)
    if all(isinstance(item, Cloned) for item in result):
        return Group(*(to_text(item) for item in result))
    if all(isinstance(item, Refreshed) for item in result):
        return _refreshed(result)
    if all(isinstance(item, TableMaintenance) for item in result):
        return Text("\n".join(maintenance_lines(result)), overflow="fold")
    if all(isinstance(item, TableAdvice) for item in result):
        return advice_text(result)
    if all(isinstance(item, ColumnAdvice) for item in result):
        return columns_text(result)
    if all(isinstance(item, TradeOffInfo) for item in result):
        return _trade_offs(result)
    if all(isinstance(item, TablePruning) for item in result):
        return _prunings(result)
    raise TypeError("the list has no text form")


def _indexes(infos: Iterable[IndexInfo]) -> Table:
    table = plain_table("name", "columns", "files>", "rows>", "keys>", "size>", "bits a row>")
    for info in infos:
        table.add_row(
            info.name,
            ", ".join(info.columns),
            units.count(info.files),
            units.count(info.rows),
            units.count(info.keys),
            units.size(info.bytes),
            f"{info.bits_per_row:.2f}",
        )
    return table


def _commits(commits: Iterable[CommitInfo]) -> Table:
    table = plain_table(
        *("commit>", "parent>", "operation", "at", "table version"),
        *("files>", "segments>", "blocks>", "size>"),
    )
    for commit in commits:
        table.add_row(
            str(commit.number),
            "" if commit.parent is None else str(commit.parent),
            commit.operation,
            commit.created_at,
            commit.table_version,
            units.count(commit.files),
            units.count(commit.segments),
            units.count(commit.blocks),
            units.size(commit.bytes),
        )
    return table


def _refreshed(results: Iterable[Refreshed]) -> Table:
    table = plain_table("index", "files indexed>", "rows>", "covered before>", "commit>", "")
    for result in results:
        note = "not done: dry run" if result.dry_run else "deltas merged" * result.compacted
        table.add_row(
            result.index,
            units.count(result.files),
            units.count(result.rows),
            units.count(result.covered),
            str(result.commit),
            note,
        )
    return table


def _prunings(scans: Iterable[TablePruning]) -> Table:
    table = plain_table("table", "files>", "read>", "unseen>", "index", "condition", "reasons")
    for scan in scans:
        table.add_row(
            scan.table,
            units.count(scan.files_total),
            units.count(scan.files_read),
            units.count(scan.uncovered),
            ", ".join(scan.indexes) or "none",
            Text(scan.predicate),
            ", ".join(dict.fromkeys(str(reason.code) for reason in scan.reasons)),
        )
    return table


def _trade_offs(points: Iterable[TradeOffInfo]) -> Table:
    table = plain_table("bits a row>", "false files>", "strategy")
    for point in points:
        table.add_row(f"{point.bits_per_row:.3f}", f"{point.false_files:.2f}", point.strategy)
    return table


def _facts(facts: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(name, Text(value))
    return table
