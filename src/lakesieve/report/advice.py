"""What the advisor says, as text for a terminal and as a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from lakesieve.advisor.result import Verdict
from lakesieve.report import units
from lakesieve.report.html import rendered
from lakesieve.report.tables import table_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.advisor.result import AdviceCheck, ColumnAdvice, Estimate, TableAdvice


def advice_text(tables: Sequence[TableAdvice]) -> RenderableType:
    """Return the advice for several tables."""
    blocks: list[RenderableType] = []
    for table in tables:
        blocks += [*_of_table(table), Text("")]
    return Group(*blocks[:-1])


def _of_table(table: TableAdvice) -> list[RenderableType]:
    trials = units.plural(table.sampled_files, "file")
    sampled = "all files" if table.sampled_files == table.files else trials
    days = f"{table.days:.1f} days" if table.days != 1 else "a day"
    blocks: list[RenderableType] = [
        Text(table.table, style="bold"),
        Text(
            f"{units.plural(table.files, 'file')}, {units.plural(table.rows, 'row')}; "
            f"{units.plural(table.queries, 'query', 'queries')} in {days}; trials over {sampled}",
            style="dim",
        ),
    ]
    if table.columns:
        blocks.append(table_of(COLUMN_HEADINGS, map(column_cells, table.columns)))
    blocks += [Text(one.command, style="bold") for one in table.advised]
    if not table.advised:
        blocks.append(Text("No index is advised."))
    blocks += [
        Text(f"{', '.join(one.columns)}: {one.why}", style="dim")
        for one in table.columns
        if one.verdict is not Verdict.INDEX
    ]
    if table.unqueried:
        blocks.append(Text(f"No query asks by {', '.join(table.unqueried)}.", style="dim"))
    if table.checks:
        blocks.append(table_of(_CHECK_HEADINGS, map(_check_cells, table.checks)))
    return blocks + [Text(f"! {problem}") for problem in table.problems]


COLUMN_HEADINGS = (
    *("columns", "advice", "queries>", "files now>", "then>", "saved a day>"),
    *("index>", "build>", "refresh>", "paid after>"),
)
_CHECK_HEADINGS = (
    *("index", "files predicted>", "measured>", "off by>"),
    *("bytes predicted>", "measured>", "off by>"),
)


def column_cells(one: ColumnAdvice) -> tuple[str, ...]:
    """Return the row of a table for columns that were tried."""
    return (
        ", ".join(one.columns),
        str(one.verdict),
        units.count(one.queries),
        between(one.files_now, "files"),
        between(one.files_then, "files"),
        between(one.seconds_saved, "seconds"),
        between(one.index_bytes, "bytes"),
        between(one.build_seconds, "seconds"),
        between(one.refresh_seconds, "seconds"),
        "never" if one.payback_days is None else between(one.payback_days, "days"),
    )


def between(estimate: Estimate, kind: str) -> str:
    """Write an estimate, with its bounds if it was not measured."""
    value = units.figure(estimate.value, kind)
    if estimate.is_exact:
        return value
    return f"{value} ({units.figure(estimate.low, kind)} to {units.figure(estimate.high, kind)})"


def _check_cells(check: AdviceCheck) -> tuple[str, ...]:
    return (
        check.index,
        between(check.files_predicted, "files"),
        units.figure(check.files_measured, "files"),
        units.percent(check.files_error, 1),
        between(check.bytes_predicted, "bytes"),
        units.figure(check.bytes_measured, "bytes"),
        units.percent(check.bytes_error, 1),
    )


def advice_page(tables: Sequence[TableAdvice]) -> str:
    """Render the advice as a page."""
    toc = [(f"table-{number}", table.table) for number, table in enumerate(tables, 1)]
    if len(tables) == 1:
        parts = (
            ("tried", "What was tried", tables[0].columns),
            ("others", "Why not the others", tables[0].columns),
            ("checks", "Predictions beside indexes", tables[0].checks),
        )
        toc += [(f"{anchor}-1", title) for anchor, title, has in parts if has]
    title = "Which columns to index"
    return rendered("advice.html.jinja", title=title, command="advise", toc=toc, tables=tables)
