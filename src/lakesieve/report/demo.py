"""The demo's result as a page for a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Group
from rich.text import Text

from lakesieve.report import units
from lakesieve.report.html import rendered
from lakesieve.report.pictures import layout_picture
from lakesieve.report.tables import table_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from lakesieve.demo.measurements import DemoQuery, DemoResult
    from lakesieve.index.overview import TableOverview

_BAR = 20


def demo_text(result: DemoResult) -> RenderableType:
    """Render what the demo measured: the table, the indexes, the queries."""
    largest = max((query.speedup for query in result.queries), default=1.0)
    return Group(
        "",
        _verdict(result),
        "",
        _headline(result),
        "",
        _indexes(result),
        "",
        _queries(result, largest),
        "",
        _closing(result),
    )


def _verdict(result: DemoResult) -> Text:
    """Say in one line what skipping files has done."""
    queries = result.queries
    off, on = sum(query.files_off for query in queries), sum(query.files_on for query in queries)
    before, after = sum(q.seconds_off for q in queries), sum(q.seconds_on for q in queries)
    return Text.assemble(
        (f"✓ {units.count(off)} → {units.plural(on, 'data file')}, answers equal", "bold green"),
        f"  {units.plural(len(queries), 'query', 'queries')} in {units.duration(after)}"
        f" instead of {units.duration(before)}",
    )


def _headline(result: DemoResult) -> Text:
    return Text.assemble(
        (result.table, "bold"),
        f"  TPC-H at scale {result.scale:g}: {units.plural(result.rows, 'row')}"
        f" in order of arrival, {units.plural(result.files, 'Iceberg file')},"
        f" {units.size(result.table_bytes)}",
    )


def _indexes(result: DemoResult) -> Table:
    costs = ("size>", "a row>", "of the column>", "of the table>")
    rows = (
        (
            Text(index.column, style="cyan"),
            units.count(index.keys),
            units.duration(index.build_seconds),
            units.size(index.bytes),
            f"{index.bits_per_row:.1f} bits",
            units.percent(index.bytes, index.column_bytes),
            units.percent(index.bytes, result.table_bytes),
        )
        for index in result.indexes
    )
    return table_of(("Indexes", "keys>", "built in>", *costs), rows, framed=True)


def _queries(result: DemoResult, largest: float) -> Table:
    rows = (
        (
            Text(query.name, style="cyan"),
            units.count(query.rows),
            _change(units.count(query.files_off), units.count(query.files_on)),
            _change(units.duration(query.seconds_off), units.duration(query.seconds_on)),
            Text(units.times(query.speedup), style="bold green"),
            Text("█" * max(1, round(_BAR * query.speedup / largest)), style="green"),
        )
        for query in result.queries
    )
    table = table_of(
        ("Queries", "rows>", "files opened>", "time>", "faster>", ""), rows, framed=True
    )
    if result.queries:
        table.add_section()
    return table


def _change(before: str, after: str) -> Text:
    return Text.assemble((before, "dim"), (" → ", "dim"), (f"{after:>7}", "bold"))


def _closing(result: DemoResult) -> Group:
    lines = [Text("The queries", style="bold")]
    lines += [_question(query, result.table) for query in result.queries]
    lines += [
        Text(""),
        Text(
            "  Files opened: what Iceberg's own min/max statistics leave → what lakesieve leaves.\n"
            "  Times: medians of 3 runs, planning included."
        ),
    ]
    new = max((query.uncovered for query in result.queries), default=0)
    if new:
        files = units.plural(new, "file")
        lines.append(Text(f"  After the append {files} not indexed yet: always read, too."))
    condition = result.queries[0].sql.partition(" WHERE ")[2] if result.queries else ""
    # where the project's own environment is, it is the one that has run this
    own = ".venv/bin/lakesieve"
    program = own if Path(own).exists() else "lakesieve"
    explain = f'{program} explain {result.table} "{condition}"'
    command = f"{explain} --warehouse {result.warehouse}"
    lines += [
        Text(""),
        Text(f"The whole demo took {units.duration(result.seconds)}. Ask it something yourself:"),
        Text(f"  {command}", style="cyan", overflow="fold"),
    ]
    return Group(*lines)


def _question(query: DemoQuery, table: str) -> Text:
    """Return the characteristic part of a query."""
    rest = query.sql.partition(" FROM ")[2].replace(table, "lineitem", 1)
    return Text.assemble("  ", (f"{query.name:<16}", "cyan"), (f"... {rest}", "dim"))


def demo_page(result: DemoResult, overview: TableOverview) -> str:
    """Render what the demo measured as a page."""
    shown = [(index.info.name, index.layout) for index in overview.indexes]
    pictures = [(name, of, layout_picture(of)) for name, of in shown if of is not None]
    maps = [(f"keys-{at}", f"Keys of {name}") for at, (name, *_) in enumerate(pictures, 1)]
    return rendered(
        "demo.html.jinja",
        title=result.table,
        command="demo",
        toc=[("queries", "Queries"), ("indexes", "Indexes"), *maps],
        demo=result,
        files_off=sum(query.files_off for query in result.queries),
        files_on=sum(query.files_on for query in result.queries),
        seconds_off=sum(query.seconds_off for query in result.queries),
        seconds_on=sum(query.seconds_on for query in result.queries),
        slowest=max((query.seconds_off for query in result.queries), default=0),
        pictures=pictures,
    )
