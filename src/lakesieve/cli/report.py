"""The command that writes a table's report as a page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakesieve.cli.command import ON_TABLES, Run, command
from lakesieve.cli.commands import TableName

if TYPE_CHECKING:
    from lakesieve.report import PageWritten

__all__ = ["REPORT"]


@command("report", ON_TABLES)
def report(
    run: Run,
    table: TableName,
    *,
    html: Annotated[
        Path, typer.Option(dir_okay=False, metavar="FILE", help="The page that is written.")
    ],
    redact: Annotated[
        bool, typer.Option("--redact", help="Leave out where the table and its indexes lie.")
    ] = False,
) -> PageWritten:
    """Write a page of what is indexed, what it costs and covers, and where the keys are."""
    from lakesieve.api import table_overview
    from lakesieve.report import PageWritten
    from lakesieve.report.page import report_page
    from lakesieve.storage import write_file

    overview = table_overview(table, **run.reach(table))
    page = report_page(overview, redact=redact).encode()
    write_file(html, page, option="--html")
    return PageWritten(
        table=overview.table, path=str(html), bytes=len(page), indexes=len(overview.indexes)
    )


REPORT = (report,)
