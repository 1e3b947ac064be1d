"""Commands whose results can be pages: the demo, the advisor, a table's report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import lakesieve as ls
from lakesieve.cli.command import WITHOUT_TABLE, Run, command
from lakesieve.cli.options import Page, TableName, argument, option
from lakesieve.defaults import MAX_PAYBACK_DAYS, MIN_SECONDS_SAVED, SAMPLE_ROWS

if TYPE_CHECKING:
    from lakesieve.advisor.result import TableAdvice
    from lakesieve.cli.session import Session
    from lakesieve.demo.measurements import DemoResult
    from lakesieve.report import WrittenPage


EventLogs = Annotated[
    list[str] | None,
    option(
        "An event log of Spark 3.5 or newer, or a folder of them; may be given several times.",
        metavar="PATH",
    ),
]


@command("demo", WITHOUT_TABLE)
def demo(
    run: Run,
    scale: Annotated[
        float, option("TPC-H scale factor; 1 is 6 million rows.", min=0.001, max=100)
    ] = 1,
    dir: Annotated[  # noqa: A002 -- the option is called --dir
        Path, option("Where the data is kept for the next run.", file_okay=False)
    ] = Path("demo-data"),
    html: Page = None,
) -> DemoResult:
    """Show on TPC-H data what skipping files does: same answers, fewer files, less time."""
    # Spark's side of the package is not needed to show help
    from lakesieve.demo.run import run_demo

    warehouse = str(dir / "warehouse")
    spark = run.session(warehouse)
    result = run_demo(spark, dir, warehouse=warehouse, scale=scale, observer=run.output)
    if html is not None:
        from lakesieve.api import table_overview
        from lakesieve.report.demo import demo_page

        _write(run, html, demo_page(result, table_overview(result.table, spark=spark)))
    return result


@command("advise")
def advise(
    run: Run,
    tables: Annotated[list[str], argument("TABLE...", "The tables, as for `create`.")],
    *,
    event_log: EventLogs = None,
    queries: Annotated[
        list[str] | None,
        option(
            "SQL statements, each counted as run once a day; may be given several times.",
            metavar="FILE",
        ),
    ] = None,
    sample: Annotated[
        int, option("Rows whose keys are read for trials.", min=1, metavar="ROWS")
    ] = SAMPLE_ROWS,
    check: Annotated[
        bool, option("Compare the predictions with indexes that exist.", "--check")
    ] = False,
    min_saved: Annotated[
        float, option("Advise indexes that save so much reading a day.", min=0, metavar="SECONDS")
    ] = MIN_SECONDS_SAVED,
    max_payback: Annotated[
        float,
        option("Advise indexes that are paid for within so many days.", min=0, metavar="DAYS"),
    ] = MAX_PAYBACK_DAYS,
    create: Annotated[bool, option("Build the indexes that are advised.", "--create")] = False,
    html: Page = None,
) -> list[TableAdvice]:
    """Tell which columns to index, what that saves and costs, and which not to index, and why."""
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
        from lakesieve.report.advice import advice_page

        _write(run, html, advice_page(advice))
    for one in advice if create else ():
        _create(run, one, spark)
    return list(advice)


def _create(run: Run, advice: TableAdvice, spark: Session) -> None:
    """Build what is advised of a table, in one scan."""
    wanted = [list(one.columns) for one in advice.advised]
    if not wanted:
        return
    names = "; ".join(", ".join(columns) for columns in wanted)
    with run.output.building(f"Indexing {names} of {advice.table}") as progress:
        ls.create_indexes(
            advice.table, wanted, spark=spark, location=run.location, progress=progress
        )


@command("report")
def report(
    run: Run,
    table: TableName,
    *,
    html: Annotated[Path, option("The page that is written.", dir_okay=False, metavar="FILE")],
    event_log: EventLogs = None,
    redact: Annotated[
        bool, option("Leave out where the table and its indexes lie, and literals.", "--redact")
    ] = False,
) -> WrittenPage:
    """Write a page of what is indexed, what it costs and covers, and where the keys are."""
    from lakesieve.api import write_report

    return write_report(table, html, event_logs=event_log or (), redact=redact, **run.reach(table))


def _write(run: Run, path: Path, page: str) -> None:
    from lakesieve.storage import write_file

    write_file(path, page.encode(), option="--html")
    run.output.say(f"Wrote {path}.")
