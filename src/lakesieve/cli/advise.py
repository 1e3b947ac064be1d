"""The command that tells which columns of tables to index."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakesieve.cli.command import ON_TABLES, Run, command

if TYPE_CHECKING:
    from lakesieve.advisor.result import TableAdvice
    from lakesieve.cli.session import Session

MinSaved = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", help="Advise indexes that save so much reading a day."),
]
MaxPayback = Annotated[
    float,
    typer.Option(
        min=0, metavar="DAYS", help="Advise indexes that are paid for within so many days."
    ),
]


@command("advise", ON_TABLES)
def advise(
    run: Run,
    tables: Annotated[
        list[str],
        typer.Argument(metavar="TABLE...", help="The tables, as for `create`.", show_default=False),
    ],
    *,
    event_log: Annotated[
        list[str] | None,
        typer.Option(
            metavar="PATH",
            help="An event log of Spark 3.5 or newer, or a folder of them; may be given several "
            "times.",
        ),
    ] = None,
    queries: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE",
            help="SQL statements, each counted as run once a day; may be given several times.",
        ),
    ] = None,
    sample: Annotated[
        int, typer.Option(min=1, metavar="ROWS", help="Rows whose keys are read for trials.")
    ] = 5_000_000,
    check: Annotated[
        bool, typer.Option("--check", help="Compare the predictions with indexes that exist.")
    ] = False,
    min_saved: MinSaved = 1.0,
    max_payback: MaxPayback = 30.0,
    create: Annotated[
        bool, typer.Option("--create", help="Build the indexes that are advised.")
    ] = False,
    html: Annotated[
        Path | None,
        typer.Option(dir_okay=False, metavar="FILE", help="Write the advice as a page, too."),
    ] = None,
) -> list[TableAdvice]:
    """Tell which columns to index, what that saves and costs, and which not to index, and why."""
    import lakesieve as ls

    spark = run.session()
    with run.output.building(f"Trials on {', '.join(tables)}") as progress:
        advice = ls.advise(
            tables,
            event_logs=event_log or (),
            queries=queries or (),
            spark=spark,
            sample=sample,
            location=run.location,
            check=check,
            min_saved=min_saved,
            max_payback=max_payback,
            progress=progress,
        )
    if html is not None:
        _write_page(run, advice, html)
    for table in advice if create else ():
        _create(run, table, spark)
    return list(advice)


def _write_page(run: Run, advice: list[TableAdvice], path: Path) -> None:
    """Write the advice as a page."""
    from lakesieve.report.advice import advice_page
    from lakesieve.storage import write_file

    write_file(path, advice_page(advice).encode(), option="--html")
    run.output.say(f"Wrote {path}.")


def _create(run: Run, advice: TableAdvice, spark: Session) -> None:
    """Build what is advised of a table, in one scan."""
    import lakesieve as ls

    wanted = [list(one.columns) for one in advice.advised]
    if not wanted:
        return
    names = "; ".join(", ".join(columns) for columns in wanted)
    with run.output.building(f"Indexing {names} of {advice.table}") as progress:
        ls.create_indexes(
            advice.table, wanted, spark=spark, location=run.location, progress=progress
        )


ADVISE = (advise,)
