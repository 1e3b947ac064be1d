"""The commands: each takes its arguments and returns a result for ``report`` to render."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

import lakesieve as ls
from lakesieve.cli.command import ON_TABLES, Run, command

if TYPE_CHECKING:
    from lakesieve.index.result import (
        Cloned,
        CommitInfo,
        Compacted,
        Found,
        IndexInfo,
        Refreshed,
        TradeOffInfo,
    )
    from lakesieve.report import Checked, Dropped, Explained
    from lakesieve.store import Repaired, Vacuumed

TableName = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="A table: `lake.db.name`, or `iceberg:`, `delta:`, `hudi:`, `parquet:` and a path.",
        show_default=False,
    ),
]
IndexName = Annotated[
    str,
    typer.Argument(
        metavar="INDEX", help="An index: by default named after its columns.", show_default=False
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
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show what would be done.")]


@command("create", ON_TABLES)
def create(
    run: Run,
    table: TableName,
    columns: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="COLUMN...", help="The columns to index, in order.", show_default=False
        ),
    ] = None,
    *,
    index: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[,COLUMN]",
            help="One more index, of these columns, built in the same scan; may be given several "
            "times.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the index; by default the columns joined by `_`.")
    ] = None,
    budget: Annotated[
        str | None,
        typer.Option(
            metavar="B",
            help="What it may cost, `2 bits` a row, or how wrong it may be, `1.5 files` read in "
            "vain by a point query; by default it is exact.",
        ),
    ] = None,
    absent_hits: Annotated[
        float, typer.Option(help="Share of look-ups of absent values that may find a file.")
    ] = 1 / 256,
    compaction: Annotated[
        str,
        typer.Option(
            metavar="N",
            help="Refreshes whose deltas may exist side by side; 0 merges at every refresh, "
            "`auto` follows the table.",
        ),
    ] = "16",
) -> IndexInfo | list[IndexInfo]:
    """Build an index of one or several columns over every data file of the table, or several."""
    wanted = _wanted(columns, index, name)
    settings: dict[str, Any] = {
        "location": run.location,
        "budget": budget,
        "absent_hits": absent_hits,
        "compaction": compaction,
    }
    spark = run.session()
    what = "; ".join(", ".join(each) for each in wanted)
    with run.output.building(f"Indexing {what} of {table}") as progress:
        settings |= {"spark": spark, "progress": progress}
        if not index:
            return ls.create_index(table, wanted[0], name=name, **settings).info()
        made = ls.create_indexes(table, wanted, **settings)
        return [each.info() for each in made]


def _wanted(
    columns: list[str] | None, index: list[str] | None, name: str | None
) -> list[list[str]]:
    """The columns of each index that ``create`` is to make."""
    wanted = [columns] if columns else []
    wanted += [[column.strip() for column in each.split(",")] for each in index or ()]
    if not wanted:
        raise typer.BadParameter("name the columns, or give --index", param_hint="COLUMN...")
    if index and name is not None:
        raise typer.BadParameter("several indexes cannot have one name", param_hint="--name")
    return wanted


@command("curve", ON_TABLES)
def curve(
    run: Run,
    table: TableName,
    columns: Annotated[
        list[str],
        typer.Argument(
            metavar="COLUMN...", help="The columns of the index, in order.", show_default=False
        ),
    ],
) -> list[TradeOffInfo]:
    """Print what an index would cost at all budgets, tried on a range of its keys."""
    spark = run.session()
    with run.output.building(f"Trying budgets for {', '.join(columns)} of {table}") as progress:
        return ls.trade_offs(table, columns, spark=spark, progress=progress)


@command("list", ON_TABLES)
def list_(run: Run, table: TableName) -> list[IndexInfo]:
    """List the indexes of a table."""
    infos = ls.list_indexes(table, **run.reach(table))
    if not infos:
        run.output.say(f"{table} has no index. Build one with: lakesieve create {table} COLUMN")
    return infos


@command("show", ON_TABLES)
def show(run: Run, table: TableName, index: IndexName) -> IndexInfo:
    """Show what an index is and what it costs."""
    return _open(run, table, index).info()


@command("files", ON_TABLES)
def files(run: Run, table: TableName, predicate: Predicate, version: Version = None) -> Found:
    """Print the data files that can hold a match, one path a line."""
    found = _find(run, table, predicate, version)
    uncovered = f", {found.uncovered} of them not indexed" if found.uncovered else ""
    run.output.say(f"{len(found.paths)} of {found.total} files can hold a match{uncovered}.")
    return found


@command("explain", ON_TABLES)
def explain(run: Run, table: TableName, predicate: Predicate, version: Version = None) -> Explained:
    """Explain which files a predicate needs, which indexes were used, and why."""
    from lakesieve.report import Explained

    return Explained(found=_find(run, table, predicate, version))


@command("history", ON_TABLES)
def history(run: Run, table: TableName, index: IndexName) -> list[CommitInfo]:
    """List the commits of an index, oldest first."""
    return _open(run, table, index).history()


@command("drop", ON_TABLES)
def drop(
    run: Run,
    table: TableName,
    index: IndexName,
    force: Annotated[
        bool, typer.Option("--force", help="Also when clones use it, and become unusable.")
    ] = False,
    dry_run: DryRun = False,
) -> Dropped:
    """Delete an index; the table itself is not touched."""
    from lakesieve.report import Dropped

    opened = _open(run, table, index)
    if not dry_run:
        opened.drop(force=force)
    return Dropped(table=table, name=index, dry_run=dry_run)


@command("refresh", ON_TABLES)
def refresh(
    run: Run,
    table: TableName,
    index: Annotated[
        str | None,
        typer.Argument(
            metavar="[INDEX]", help="An index; by default all of the table.", show_default=False
        ),
    ] = None,
    all_refs: Annotated[
        bool, typer.Option("--all-refs", help="Also the files of all branches and tags.")
    ] = False,
    dry_run: DryRun = False,
) -> list[Refreshed]:
    """Index the data files that an index, or every index, does not cover yet."""
    spark = run.session()
    with run.output.building(f"Refreshing {index or 'all indexes'} of {table}") as progress:
        done = ls.refresh_indexes(
            table,
            None if index is None else [index],
            spark=spark,
            location=run.location,
            all_refs=all_refs,
            dry_run=dry_run,
            progress=progress,
        )
    if not done:
        run.output.say(f"{table} has no index. Build one with: lakesieve create {table} COLUMN")
    return done


@command("compact", ON_TABLES)
def compact(run: Run, table: TableName, index: IndexName, dry_run: DryRun = False) -> Compacted:
    """Merge the segments of an index, from the index alone, without files nobody keeps."""
    return _open(run, table, index).compact(dry_run=dry_run)


@command("clone", ON_TABLES)
def clone(
    run: Run,
    table: TableName,
    index: IndexName,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="Another table that shares data files.", show_default=False
        ),
    ],
    *,
    name: Annotated[
        str | None, typer.Option(help="Name of the clone; by default the same.")
    ] = None,
    commit: Annotated[
        int | None, typer.Option(metavar="N", help="The commit to begin with; by default the last.")
    ] = None,
) -> Cloned:
    """Give a table that shares data files an index without building it."""
    return _open(run, table, index).clone(target, name=name, commit=commit)


@command("clone-table", ON_TABLES)
def clone_table(
    run: Run,
    table: TableName,
    target: Annotated[
        str,
        typer.Argument(
            metavar="TARGET", help="Name of the copy, in the same catalog.", show_default=False
        ),
    ],
    version: Version = None,
) -> list[Cloned]:
    """Make a zero-copy table from any version of an Iceberg table, with all of its indexes."""
    return ls.clone_table(
        table, target, spark=run.session(), version=version, location=run.location
    )


@command("rollback", ON_TABLES)
def rollback(
    run: Run,
    table: TableName,
    index: IndexName,
    commit: Annotated[
        int, typer.Argument(metavar="COMMIT", help="A commit of `lakesieve history`.")
    ],
) -> IndexInfo:
    """Make an index what it was after an earlier commit, by a new commit."""
    return _open(run, table, index).rollback(commit)


@command("vacuum", ON_TABLES)
def vacuum(
    run: Run,
    table: TableName,
    index: IndexName,
    *,
    retain: Annotated[
        int, typer.Option(min=1, metavar="N", help="Commits whose states are kept.")
    ] = 10,
    hours: Annotated[
        float,
        typer.Option(min=0, help="Delete nothing younger: longer than any build or query takes."),
    ] = 24,
    dry_run: DryRun = False,
) -> Vacuumed:
    """Delete what no kept commit of an index needs, and leftovers of dead builds."""
    return _open(run, table, index).vacuum(
        retain_commits=retain, older_than=timedelta(hours=hours), dry_run=dry_run
    )


@command("verify", ON_TABLES)
def verify(
    run: Run,
    table: TableName,
    index: IndexName,
    files: Annotated[
        int,
        typer.Option(
            min=0, help="Also read so many data files again, spread evenly, and look up their keys."
        ),
    ] = 0,
    all_files: Annotated[
        bool, typer.Option("--all", help="Also read all data files of the current version again.")
    ] = False,
) -> Checked:
    """Check every checksum of an index; with Spark, also the keys of data files read again."""
    from lakesieve.report import Checked

    if not (files or all_files):
        return Checked(
            index=index, table=table, stored=_open(run, table, index).verify(), rows=None
        )
    opened = ls.open_index(table, index, spark=run.session(), location=run.location)
    stored, rows = opened.verify(), None
    if not stored.damaged:
        with run.output.building(f"Verifying {index} of {table}") as progress:
            rows = opened.verify_rows(files=None if all_files else files, progress=progress)
    return Checked(index=index, table=table, stored=stored, rows=rows)


@command("repair", ON_TABLES)
def repair(run: Run, table: TableName, index: IndexName, dry_run: DryRun = False) -> Repaired:
    """Make a damaged index usable again from what is left of it, or say what is lost."""
    return ls.repair_index(table, index, dry_run=dry_run, **run.reach(table))


def _open(run: Run, table: str, index: str) -> ls.Index:
    opened: ls.Index = ls.open_index(table, index, **run.reach(table))
    return opened


def _find(run: Run, table: str, predicate: str, version: str | None) -> Found:
    return ls.find_files(table, predicate, version=version, **run.reach(table))


COMMANDS = (
    *(create, curve, refresh, list_, show, files, explain),
    *(history, compact, rollback, clone, clone_table, verify, repair, vacuum, drop),
)
