"""Result models as text for a terminal: what stdout shows, and what is said beside it."""

from __future__ import annotations

from functools import singledispatch
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from lakesieve.index.result import CommitInfo, Found, IndexInfo
from lakesieve.report import units
from lakesieve.report.demo import demo_text
from lakesieve.report.result import Dropped, Explained
from lakesieve.spark.demo_result import DemoResult

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["plain_table", "to_text"]

_MOST_PATHS = 10


@singledispatch
def to_text(result: object) -> RenderableType:
    """Render a result model for stdout; a plain ``str`` is data, to be written as it stands."""
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
        ("index", ", ".join(found.indexes) or "none used"),
    ]
    if found.uncovered:
        facts.append(("uncovered", f"{units.plural(found.uncovered, 'file')} no index has seen"))
    reasons = [Text.assemble((str(r.code), "bold"), "  ", r.detail) for r in found.reasons]
    paths = [Text(path, style="dim", overflow="fold") for path in found.paths[:_MOST_PATHS]]
    more = len(found.paths) - len(paths)
    if more:
        paths.append(Text(f"... and {more} more: lakesieve files", style="dim"))
    parts: list[RenderableType] = [_facts(facts)]
    for title, lines in (("Why", reasons), ("Files to read", paths)):
        if lines:
            parts += [Text(f"\n{title}", style="bold"), Padding(Group(*lines), (0, 0, 0, 2))]
    return Group(*parts)


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
        ]
    )


@to_text.register
def _(result: Dropped) -> RenderableType:
    verb = "Would drop" if result.dry_run else "Dropped"
    return f"{verb} the index {result.name} of {result.table}."


@to_text.register
def _(result: list) -> RenderableType:  # type: ignore[type-arg]
    if not result:
        return ""
    if all(isinstance(item, IndexInfo) for item in result):
        return _indexes(result)
    if all(isinstance(item, CommitInfo) for item in result):
        return _commits(result)
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
        "commit>", "operation", "at", "table version", "files>", "segments>", "size>"
    )
    for commit in commits:
        table.add_row(
            str(commit.number),
            commit.operation,
            commit.created_at,
            commit.table_version,
            units.count(commit.files),
            units.count(commit.segments),
            units.size(commit.bytes),
        )
    return table


def plain_table(*headings: str) -> Table:
    """Start a table without frames; a heading that ends in ``>`` is of a column of numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        number = heading.endswith(">")
        table.add_column(heading.rstrip(">"), justify="right" if number else "left", no_wrap=number)
    return table


def _facts(facts: Iterable[tuple[str, str]]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(name, Text(value))
    return table
