"""Commands that look: tables, indexes, the files of a query, advice, reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import lakesieve as ls
from lakesieve.cli.command import WITHOUT_SPARK, WITHOUT_TABLE, Run, command
from lakesieve.cli.given_files import check_file
from lakesieve.cli.options import (
    IndexName,
    Page,
    Predicate,
    TableName,
    Version,
    argument,
    option,
    table_argument,
)
from lakesieve.defaults import MAX_PAYBACK_DAYS, MIN_SECONDS_SAVED, SAMPLE_ROWS

if TYPE_CHECKING:
    from lakesieve.advisor.result import TableAdvice
    from lakesieve.cli.session import Session
    from lakesieve.demo.measurements import DemoResult
    from lakesieve.index.result import CommitInfo, FileMatches, IndexInfo
    from lakesieve.index.table_info import TableInfo
    from lakesieve.report import Explanation, WrittenPage

"""Tables of a catalog that are looked at side by side: each is some requests to a storage."""

EventLogs = Annotated[
    list[str] | None,
    option(
        "Read this event log of Spark, or a folder of them; repeat the option for more.",
        metavar="PATH",
    ),
]

Queries = Annotated[
    list[str] | None,
    option(
        "Read SQL statements from this file, each counted as run once a day; repeat the "
        "option for more.",
        metavar="FILE",
    ),
]
Sample = Annotated[
    int, option("Read the keys of about this many rows for trials.", min=1, metavar="ROWS")
]
MaxPayback = Annotated[
    float,
    option(
        "Advise an index only if its build is paid for within this time.",
        min=0,
        metavar="DAYS",
    ),
]


@command(
    "tables",
    WITHOUT_SPARK,
    examples=("tables", "tables --warehouse warehouse --json", "tables --catalog glue"),
    more="api.md#without-a-session",
)
def tables(run: Run) -> list[TableInfo]:
    """List the tables of a catalog and the indexes of each.

    Without `--catalog` these are the Iceberg tables in the embedded warehouse. The command reads
    no rows.
    """
    from lakesieve.cli.session import leave_out_pandas

    leave_out_pandas()
    # a catalog has a warehouse of its own
    warehouse = None if run.catalog else run.warehouse
    lake = ls.connect(catalog=run.catalog, warehouse=warehouse, location=run.location)
    listed = lake.tables()
    if not listed:
        where = run.catalog or f"the warehouse {run.warehouse}"
        run.output.say(
            f"There is no table in {where}. Name another place with --warehouse or --catalog."
        )
    return listed


@command(
    "list",
    examples=("list lake.tpch.lineitem", "list iceberg:warehouse/tpch/lineitem --json"),
)
def list_(run: Run, table: TableName) -> list[IndexInfo]:
    """List the indexes of a table and how fresh each is.

    An index is fresh when it covers all live data files. A stale index is safe: data files that
    are not indexed yet are always read.
    """
    from lakesieve.index.freshness import index_states

    return or_say(run, table, index_states(run.access(table), table, run.location))


def or_say(run: Run, table: str, found: list[Any]) -> list[Any]:
    """Say how to build an index where the table has none."""
    if not found:
        run.output.say(f"{table} has no index. Build one with: lakesieve create {table} COLUMN")
    return found


@command("show", examples=("show lake.tpch.lineitem l_orderkey",))
def show(run: Run, table: TableName, index: IndexName) -> IndexInfo:
    """Show what an index covers, what it costs and how fresh it is."""
    from lakesieve.index.freshness import index_states

    (state,) = index_states(run.access(table), table, run.location, name=index)
    return state


@command(
    "files",
    examples=(
        'files lake.tpch.lineitem "l_orderkey IN (5, 9)"',
        'files lake.tpch.lineitem "l_orderkey = 5" --version audited --timezone Europe/Vienna',
        'files lake.tpch.lineitem --order-by "l_orderkey DESC" --limit 100',
    ),
)
def files(
    run: Run,
    table: TableName,
    predicate: Annotated[
        str | None,
        argument("PREDICATE", "A condition in Spark SQL, such as `id = 5`; all rows without one."),
    ] = None,
    *,
    version: Version = None,
    order_by: Annotated[
        str | None,
        option(
            "Only files that can hold one of the first rows in the order of this column.",
            metavar="COLUMN [ASC|DESC] [NULLS FIRST|LAST]",
        ),
    ] = None,
    limit: Annotated[
        int | None, option("The number of first rows for --order-by.", min=1, metavar="ROWS")
    ] = None,
) -> FileMatches:
    """Print the data files that can hold a row for which a condition is true.

    One path a line goes to stdout, the summary to stderr.
    """
    matches = ls.find_files(
        table, predicate, version=version, order_by=order_by, limit=limit, **run.reach(table)
    )
    uncovered = f", {matches.uncovered} of them not indexed" if matches.uncovered else ""
    run.output.say(f"{len(matches.paths)} of {matches.total} files can hold a match{uncovered}.")
    return matches


@command(
    "explain",
    examples=(
        'explain lake.tpch.lineitem "l_orderkey = 5 AND l_partkey < 100"',
        'explain lake.tpch.lineitem "l_orderkey = 5" --version audited',
    ),
    more="operations.md",
)
def explain(
    run: Run, table: TableName, predicate: Predicate, version: Version = None
) -> Explanation:
    """Explain which data files a condition needs, and why an index is used or not.

    *Without an index* is the number of data files that the table format's own minimum, maximum
    and partitions leave. An engine without lakesieve reads these.
    """
    from lakesieve.report import Explanation

    matches = ls.find_files(table, predicate, version=version, **run.reach(table))
    return Explanation(found=matches)


@command("history", examples=("history lake.tpch.lineitem l_orderkey",))
def history(run: Run, table: TableName, index: IndexName) -> list[CommitInfo]:
    """List the commits of an index that are kept, oldest first."""
    opened: ls.Index = ls.open_index(table, index, **run.reach(table))
    return opened.history()


@command(
    "advise",
    examples=(
        "advise lake.tpch.lineitem --event-log spark-events --queries dashboards.sql",
        "advise lake.tpch.lineitem --queries dashboards.sql --sample 1000000 --html advice.html",
        "advise lake.tpch.lineitem --queries dashboards.sql --min-saved 10 --max-payback 7 --check",
        "advise lake.tpch.lineitem --queries dashboards.sql --create",
    ),
    more="advise.md",
)
def advise(
    run: Run,
    tables: Annotated[list[str], table_argument("TABLE...", "The tables, named as for `create`.")],
    *,
    event_log: EventLogs = None,
    queries: Queries = None,
    sample: Sample = SAMPLE_ROWS,
    check: Annotated[
        bool, option("Also compare the predictions with the indexes that exist.", "--check")
    ] = False,
    min_saved: Annotated[
        float,
        option(
            "Advise an index only if it saves this much reading a day.", min=0, metavar="SECONDS"
        ),
    ] = MIN_SECONDS_SAVED,
    max_payback: MaxPayback = MAX_PAYBACK_DAYS,
    create: Annotated[bool, option("Build the indexes that are advised.", "--create")] = False,
    html: Page = None,
) -> list[TableAdvice]:
    """Advise which columns or other keys to index, by your queries and by trial indexes.

    The advice says what each index saves and costs, and why other columns are not worth one.
    """
    if not event_log and not queries:
        raise typer.BadParameter(
            "give an event log or a file of SQL statements", param_hint="--event-log or --queries"
        )
    for path in event_log or ():
        check_file(path, "--event-log")
    for path in queries or ():
        check_file(path, "--queries")
    spark = run.session(*tables)
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
            advice.table,
            wanted,
            spark=spark,
            names=[one.name for one in advice.advised],
            location=run.location,
            progress=progress,
        )


@command(
    "report",
    examples=(
        "report lake.tpch.lineitem --html lineitem.html",
        "report lake.tpch.lineitem --html lineitem.html --event-log spark-events --redact",
    ),
)
def report(
    run: Run,
    table: TableName,
    *,
    html: Annotated[Path, option("Write the page to this file.", dir_okay=False, metavar="FILE")],
    event_log: EventLogs = None,
    redact: Annotated[
        bool, option("Leave out locations, and the literals of queries.", "--redact")
    ] = False,
) -> WrittenPage:
    """Write a page about a table's indexes: what they cost, cover and save.

    The page needs no other file. No data file is read for it. With `--event-log` it shows the
    latest queries, and only then it may advise to drop an index.
    """
    from lakesieve.api import write_report

    for path in event_log or ():
        check_file(path, "--event-log")
    return write_report(table, html, event_logs=event_log or (), redact=redact, **run.reach(table))


@command(
    "demo",
    WITHOUT_TABLE,
    examples=("demo", "demo --scale 0.1 --dir demo-data --html demo.html"),
    more="tutorial.md",
)
def demo(
    run: Run,
    scale: Annotated[
        float, option("Scale factor of TPC-H: 1 is 6 million rows.", min=0.001, max=100)
    ] = 1,
    dir: Annotated[  # noqa: A002 -- the option is called --dir
        Path, option("Folder that keeps the data for the next run.", file_okay=False)
    ] = Path("demo-data"),
    html: Page = None,
) -> DemoResult:
    """Run queries on TPC-H data with skipping off and on, and compare answers and times.

    The demo generates the table `lineitem`, loads it into Iceberg in order of arrival, and indexes
    `l_orderkey` and `l_partkey`. It fails if an answer differs.
    """
    # Spark's side of the package is not needed to show help
    from lakesieve.demo.data import generator
    from lakesieve.demo.run import run_demo

    generator()
    warehouse = str(dir / "warehouse")
    spark = run.session(warehouse=warehouse)
    result = run_demo(spark, dir, warehouse=warehouse, scale=scale, observer=run.output)
    if html is not None:
        from lakesieve.api import table_overview
        from lakesieve.report.demo import demo_page

        _write(run, html, demo_page(result, table_overview(result.table, spark=spark)))
    return result


def _write(run: Run, path: Path, page: str) -> None:
    from lakesieve.storage import write_file

    write_file(path, page.encode(), option="--html")
    run.output.say(f"Wrote {path}.")
