"""The commands: each takes its arguments and returns a result for ``report`` to render."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from lakesieve.cli.command import EVERYWHERE, ON_TABLES, Run, command
from lakesieve.index.result import CommitInfo, Found, IndexInfo
from lakesieve.report import Dropped, Explained
from lakesieve.spark.demo_result import DemoResult

__all__ = ["COMMANDS"]

TableName = Annotated[
    str,
    typer.Argument(
        metavar="TABLE", help="A table: `lake.db.name` or `iceberg:PATH`.", show_default=False
    ),
]
IndexName = Annotated[
    str,
    typer.Argument(
        metavar="INDEX", help="An index: by default named after its column.", show_default=False
    ),
]
Predicate = Annotated[
    str,
    typer.Argument(
        metavar="PREDICATE", help="A condition in Spark SQL: `id IN (5, 9)`.", show_default=False
    ),
]
Version = Annotated[
    str | None,
    typer.Option(
        metavar="V", help="Snapshot id, time, tag or branch of the table; by default the newest."
    ),
]


@command("demo", EVERYWHERE)
def demo(
    run: Run,
    scale: Annotated[
        float, typer.Option(min=0.001, max=100, help="TPC-H scale factor; 1 is 6 million rows.")
    ] = 1,
    dir: Annotated[  # noqa: A002 -- the option is called --dir
        Path, typer.Option(file_okay=False, help="Where the data is kept for the next run.")
    ] = Path("demo-data"),
) -> DemoResult:
    """Show on TPC-H data what skipping files does: same answers, fewer files, less time."""
    # Spark's side of the package is not needed to show help
    from lakesieve.spark.demo import run_demo

    warehouse = str(dir / "warehouse")
    spark = run.session(warehouse)
    return run_demo(spark, dir, warehouse=warehouse, scale=scale, observer=run.output)


@command("create", ON_TABLES)
def create(
    run: Run,
    table: TableName,
    columns: Annotated[
        list[str],
        typer.Argument(metavar="COLUMN...", help="The column to index.", show_default=False),
    ],
    name: Annotated[
        str | None, typer.Option(help="Name of the index; by default that of the column.")
    ] = None,
) -> IndexInfo:
    """Build an index of a column over every data file of the table."""
    spark = run.session()
    with run.output.building(f"Indexing {', '.join(columns)} of {table}") as progress:
        index = run.api.create_index(
            table, columns, spark=spark, name=name, location=run.location, progress=progress
        )
    return index.info()


@command("list", ON_TABLES)
def list_(run: Run, table: TableName) -> list[IndexInfo]:
    """List the indexes of a table."""
    infos = run.api.list_indexes(table, spark=run.session(), location=run.location)
    if not infos:
        run.output.say(f"{table} has no index. Build one with: lakesieve create {table} COLUMN")
    return infos


@command("show", ON_TABLES)
def show(run: Run, table: TableName, index: IndexName) -> IndexInfo:
    """Show what an index is and what it costs."""
    return run.api.open_index(table, index, spark=run.session(), location=run.location).info()


@command("files", ON_TABLES)
def files(run: Run, table: TableName, predicate: Predicate, version: Version = None) -> Found:
    """Print the data files that can hold a match, one path a line."""
    found = _find(run, table, predicate, version)
    uncovered = f", {found.uncovered} of them not indexed" if found.uncovered else ""
    run.output.say(f"{len(found.paths)} of {found.total} files can hold a match{uncovered}.")
    return found


@command("explain", ON_TABLES)
def explain(run: Run, table: TableName, predicate: Predicate, version: Version = None) -> Explained:
    """Explain which files a predicate needs, which indexes tell, and why."""
    return Explained(found=_find(run, table, predicate, version))


@command("history", ON_TABLES)
def history(run: Run, table: TableName, index: IndexName) -> list[CommitInfo]:
    """List the commits of an index, oldest first."""
    return run.api.open_index(table, index, spark=run.session(), location=run.location).history()


@command("drop", ON_TABLES)
def drop(
    run: Run,
    table: TableName,
    index: IndexName,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only check that it is there.")
    ] = False,
) -> Dropped:
    """Delete an index; the table itself is not touched."""
    opened = run.api.open_index(table, index, spark=run.session(), location=run.location)
    if not dry_run:
        opened.drop()
    return Dropped(table=table, name=index, dry_run=dry_run)


def _find(run: Run, table: str, predicate: str, version: str | None) -> Found:
    return run.api.find_files(
        table, predicate, spark=run.session(), version=version, location=run.location
    )


COMMANDS = (demo, create, list_, show, files, explain, history, drop)
