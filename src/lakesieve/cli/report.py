"""The command that writes a table's report as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakesieve.cli.command import ON_TABLES, Run, command
from lakesieve.cli.commands import TableName

if TYPE_CHECKING:
    from lakesieve.report import PageWritten


@command("report", ON_TABLES)
def report(
    run: Run,
    table: TableName,
    *,
    html: Annotated[
        Path, typer.Option(dir_okay=False, metavar="FILE", help="The page that is written.")
    ],
    event_log: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="An event log of Spark, or a folder of them: the page shows the latest queries; "
            "may be given several times.",
        ),
    ] = None,
    redact: Annotated[
        bool,
        typer.Option(
            "--redact", help="Leave out where the table and its indexes lie, and literals."
        ),
    ] = False,
) -> PageWritten:
    """Write a page of what is indexed, what it costs and covers, and where the keys are."""
    from lakesieve.api import recent_queries, table_overview
    from lakesieve.report import PageWritten
    from lakesieve.report.page import report_page
    from lakesieve.storage import write_file

    reach = run.reach(table)
    overview = table_overview(table, **reach)
    recent = recent_queries(table, event_log, **reach) if event_log else None
    page = report_page(overview, recent=recent, redact=redact).encode()
    write_file(html, page, option="--html")
    return PageWritten(
        table=overview.table, path=str(html), bytes=len(page), indexes=len(overview.indexes)
    )


REPORT = (report,)
