"""Commands on the indexes of a table: make, show, use, keep up, repair and drop them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

import lakesieve as ls
from lakesieve.cli.command import Run, command
from lakesieve.cli.options import (
    DryRun,
    IndexName,
    Predicate,
    TableName,
    Version,
    argument,
    option,
)
from lakesieve.defaults import ABSENT_HITS, COMPACTION, RETAIN_COMMITS, SAFETY_AGE

if TYPE_CHECKING:
    from lakesieve.index.result import (
        CloneResult,
        CommitInfo,
        CompactionResult,
        FileMatches,
        IndexInfo,
        RefreshResult,
        TradeOffInfo,
    )
    from lakesieve.report import DroppedIndex, Explanation, IndexCheck
    from lakesieve.store import Repaired, Vacuumed


@command("create")
def create(
    run: Run,
    table: TableName,
    columns: Annotated[
        list[str] | None, argument("COLUMN...", "The columns to index, in order.")
    ] = None,
    *,
    index: Annotated[
        list[str] | None,
        option(
            "One more index, of these columns, built in the same scan; may be given several times.",
            metavar="COLUMN[,COLUMN]",
        ),
    ] = None,
    name: Annotated[
        str | None, option("Name of the index; by default the columns joined by `_`.")
    ] = None,
    budget: Annotated[
        str | None,
        option(
            "What it may cost, `2 bits` a row, or how wrong it may be, `1.5 files` read in "
            "vain by a point query; by default it is exact.",
            metavar="B",
        ),
    ] = None,
    absent_hits: Annotated[
        float, option("Share of look-ups of absent values that may find a file.")
    ] = ABSENT_HITS,
    compaction: Annotated[
        str,
        option(
            "Refreshes whose deltas may exist side by side; 0 merges at every refresh, "
            "`auto` follows the table.",
            metavar="N",
        ),
    ] = COMPACTION,
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
    """Return the columns of each index that ``create`` is to make."""
    wanted = [columns] if columns else []
    wanted += [[column.strip() for column in each.split(",")] for each in index or ()]
    if not wanted:
        raise typer.BadParameter("name the columns, or give --index", param_hint="COLUMN...")
    if index and name is not None:
        raise typer.BadParameter("several indexes cannot have one name", param_hint="--name")
    return wanted


@command("curve")
def curve(
    run: Run,
    table: TableName,
    columns: Annotated[list[str], argument("COLUMN...", "The columns of the index, in order.")],
) -> list[TradeOffInfo]:
    """Print what an index would cost at all budgets, tried on a range of its keys."""
    spark = run.session()
    with run.output.building(f"Trying budgets for {', '.join(columns)} of {table}") as progress:
        return ls.trade_offs(table, columns, spark=spark, progress=progress)


@command("refresh")
def refresh(
    run: Run,
    table: TableName,
    index: Annotated[
        str | None, argument("[INDEX]", "An index; by default all of the table.")
    ] = None,
    all_refs: Annotated[
        bool, option("Also the files of all branches and tags.", "--all-refs")
    ] = False,
    dry_run: DryRun = False,
) -> list[RefreshResult]:
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
    return _or_say(run, table, done)


@command("list")
def list_(run: Run, table: TableName) -> list[IndexInfo]:
    """List the indexes of a table."""
    return _or_say(run, table, ls.list_indexes(table, **run.reach(table)))


def _or_say(run: Run, table: str, found: list[Any]) -> list[Any]:
    """Say how to build an index where the table has none."""
    if not found:
        run.output.say(f"{table} has no index. Build one with: lakesieve create {table} COLUMN")
    return found


@command("show")
def show(run: Run, table: TableName, index: IndexName) -> IndexInfo:
    """Show what an index is and what it costs."""
    return _open(run, table, index).info()


@command("files")
def files(run: Run, table: TableName, predicate: Predicate, version: Version = None) -> FileMatches:
    """Print the data files that can hold a match, one path a line."""
    found = ls.find_files(table, predicate, version=version, **run.reach(table))
    uncovered = f", {found.uncovered} of them not indexed" if found.uncovered else ""
    run.output.say(f"{len(found.paths)} of {found.total} files can hold a match{uncovered}.")
    return found


@command("explain")
def explain(
    run: Run, table: TableName, predicate: Predicate, version: Version = None
) -> Explanation:
    """Explain which files a predicate needs, which indexes were used, and why."""
    from lakesieve.report import Explanation

    found = ls.find_files(table, predicate, version=version, **run.reach(table))
    return Explanation(found=found)


@command("history")
def history(run: Run, table: TableName, index: IndexName) -> list[CommitInfo]:
    """List the commits of an index, oldest first."""
    return _open(run, table, index).history()


@command("compact")
def compact(
    run: Run, table: TableName, index: IndexName, dry_run: DryRun = False
) -> CompactionResult:
    """Merge the segments of an index, from the index alone, without files nobody keeps."""
    return _open(run, table, index).compact(dry_run=dry_run)


@command("rollback")
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


@command("clone")
def clone(
    run: Run,
    table: TableName,
    index: IndexName,
    target: Annotated[str, argument("TARGET", "Another table that shares data files.")],
    *,
    name: Annotated[str | None, option("Name of the clone; by default the same.")] = None,
    commit: Annotated[
        int | None, option("The commit to begin with; by default the last.", metavar="N")
    ] = None,
) -> CloneResult:
    """Give a table that shares data files an index without building it."""
    return _open(run, table, index).clone(target, name=name, commit=commit)


@command("clone-table")
def clone_table(
    run: Run,
    table: TableName,
    target: Annotated[str, argument("TARGET", "Name of the copy, in the same catalog.")],
    version: Version = None,
) -> list[CloneResult]:
    """Make a zero-copy table from any version of an Iceberg table, with all of its indexes."""
    spark = run.session()
    return ls.clone_table(table, target, spark=spark, version=version, location=run.location)


@command("verify")
def verify(
    run: Run,
    table: TableName,
    index: IndexName,
    files: Annotated[
        int,
        option("Also read so many data files again, spread evenly, and look up their keys.", min=0),
    ] = 0,
    all_files: Annotated[
        bool, option("Also read all data files of the current version again.", "--all")
    ] = False,
) -> IndexCheck:
    """Check every checksum of an index; with Spark, also the keys of data files read again."""
    from lakesieve.report import IndexCheck

    if not (files or all_files):
        stored = _open(run, table, index).verify()
        return IndexCheck(index=index, table=table, stored=stored, rows=None)
    opened = ls.open_index(table, index, spark=run.session(), location=run.location)
    stored, rows = opened.verify(), None
    if not stored.damaged:
        with run.output.building(f"Verifying {index} of {table}") as progress:
            rows = opened.verify_rows(files=None if all_files else files, progress=progress)
    return IndexCheck(index=index, table=table, stored=stored, rows=rows)


@command("repair")
def repair(run: Run, table: TableName, index: IndexName, dry_run: DryRun = False) -> Repaired:
    """Make a damaged index usable again from what is left of it, or say what is lost."""
    return ls.repair_index(table, index, dry_run=dry_run, **run.reach(table))


@command("vacuum")
def vacuum(
    run: Run,
    table: TableName,
    index: IndexName,
    *,
    retain: Annotated[
        int, option("Commits whose states are kept.", min=1, metavar="N")
    ] = RETAIN_COMMITS,
    hours: Annotated[
        float, option("Delete nothing younger: longer than any build or query takes.", min=0)
    ] = SAFETY_AGE / timedelta(hours=1),
    dry_run: DryRun = False,
) -> Vacuumed:
    """Delete what no kept commit of an index needs, and leftovers of dead builds."""
    return _open(run, table, index).vacuum(
        retain_commits=retain, older_than=timedelta(hours=hours), dry_run=dry_run
    )


@command("drop")
def drop(
    run: Run,
    table: TableName,
    index: IndexName,
    force: Annotated[
        bool, option("Also when clones use it, and become unusable.", "--force")
    ] = False,
    dry_run: DryRun = False,
) -> DroppedIndex:
    """Delete an index; the table itself is not touched."""
    from lakesieve.report import DroppedIndex

    opened = _open(run, table, index)
    if not dry_run:
        opened.drop(force=force)
    return DroppedIndex(table=table, name=index, dry_run=dry_run)


def _open(run: Run, table: str, index: str) -> ls.Index:
    opened: ls.Index = ls.open_index(table, index, **run.reach(table))
    return opened
