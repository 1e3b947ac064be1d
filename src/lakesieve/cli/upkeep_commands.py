"""Commands that keep indexes up with their tables, and repair and drop them."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import lakesieve as ls
from lakesieve.cli.command import WITHOUT_LOCATION, Run, command
from lakesieve.cli.look_commands import or_say
from lakesieve.cli.options import (
    DryRun,
    IndexName,
    TableName,
    Watch,
    argument,
    index_argument,
    option,
)
from lakesieve.cli.watching import repeat, seconds_between
from lakesieve.defaults import ADDRESS, RETAIN_COMMITS, SAFETY_AGE
from lakesieve.errors import ErrorKind, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.index.maintenance import MaintenanceStep, TableMaintenance
    from lakesieve.index.result import CompactionResult, IndexInfo, RefreshResult
    from lakesieve.report import DroppedIndex, IndexCheck
    from lakesieve.report.maintenance_metrics import MaintenanceMetrics
    from lakesieve.store import Repaired, Vacuumed
    from lakesieve.tables import TableReader


@command(
    "refresh",
    examples=(
        "refresh lake.tpch.lineitem",
        "refresh lake.tpch.lineitem l_orderkey --all-refs",
        "refresh lake.tpch.lineitem --dry-run",
    ),
    more="maintain.md",
)
def refresh(
    run: Run,
    table: TableName,
    index: Annotated[
        str | None, index_argument("[INDEX]", "Name of an index: by default all of the table.")
    ] = None,
    all_refs: Annotated[
        bool, option("Also index the data files of all branches and tags.", "--all-refs")
    ] = False,
    dry_run: DryRun = False,
) -> list[RefreshResult]:
    """Index the data files that an index, or every index, does not cover yet.

    Only new data files are read, once for all indexes. If one index fails, the others are still
    refreshed.
    """

    def check(reader: TableReader) -> None:
        from lakesieve.index.access import without_engine

        if index is not None:
            without_engine(**run.catalogs()).index_storage(reader, index, run.location)

    spark = run.session(table, check=check)
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
    return or_say(run, table, done)


@command(
    "maintain",
    WITHOUT_LOCATION,
    examples=(
        "maintain lakesieve.toml --dry-run",
        "maintain lakesieve.toml --watch 5m --metrics-port 9100 --metrics-host 0.0.0.0",
    ),
    more="maintain.md",
)
def maintain(
    run: Run,
    file: Annotated[
        str, argument("[FILE]", "File that declares tables and their indexes.")
    ] = "lakesieve.toml",
    *,
    watch: Watch = None,
    metrics_port: Annotated[
        int | None,
        option(
            "Serve metrics for Prometheus at this port, with --watch.",
            min=1,
            max=65535,
            metavar="N",
        ),
    ] = None,
    metrics_host: Annotated[
        str, option("Serve the metrics at this address.", metavar="ADDRESS")
    ] = ADDRESS,
    dry_run: DryRun = False,
) -> list[TableMaintenance] | None:
    """Create, refresh, compact and vacuum the indexes that a file declares.

    The file is `lakesieve.toml` by default. The exit status is 1 if a step failed. With `--watch`
    the first SIGTERM or Ctrl+C ends the command after the current step.
    """
    from lakesieve.index.declared import read_declarations

    seconds = seconds_between(watch, dry_run=dry_run)
    if metrics_port is not None and watch is None:
        raise InvalidInputError(
            "Metrics are served only with --watch.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give --watch as well, such as --watch 5m.",
        )
    tables = read_declarations(file)
    metrics = None if metrics_port is None else _metrics(metrics_port, metrics_host)
    spark = run.session(formats_of=[table.name for table in tables])

    def observe(table: str, step: MaintenanceStep) -> None:
        from lakesieve.report import step_line

        run.output.say(step_line(table, step))

    if seconds is None:
        return ls.maintain(tables, spark=spark, dry_run=dry_run, observe=observe)

    def once(going_on: Callable[[], bool]) -> None:
        rounds = ls.maintain(tables, spark=spark, going_on=going_on, observe=observe)
        for done in rounds:
            if done.error is not None:
                run.output.error(f"{done.table}: {done.error}")
            if metrics is not None:
                metrics.observe(done)

    repeat(run, seconds, once)
    return None


def _metrics(port: int, host: str) -> MaintenanceMetrics:
    from lakesieve.report.maintenance_metrics import MaintenanceMetrics

    metrics = MaintenanceMetrics()
    metrics.serve(port, host)
    return metrics


@command(
    "compact",
    examples=("compact lake.tpch.lineitem l_orderkey --dry-run",),
)
def compact(
    run: Run, table: TableName, index: IndexName, dry_run: DryRun = False
) -> CompactionResult:
    """Merge the segments of an index into as few as possible.

    The command reads the index alone, and drops data files that no version of the table holds.
    Queries go on meanwhile.
    """
    return _open(run, table, index).compact(dry_run=dry_run)


@command(
    "verify",
    examples=(
        "verify lake.tpch.lineitem l_orderkey",
        "verify lake.tpch.lineitem l_orderkey --files 2",
        "verify lake.tpch.lineitem l_orderkey --all",
    ),
)
def verify(
    run: Run,
    table: TableName,
    index: IndexName,
    files: Annotated[
        int,
        option("Also read this many data files and look up all of their keys.", min=0),
    ] = 0,
    all_files: Annotated[
        bool, option("Also read all covered data files and look up all of their keys.", "--all")
    ] = False,
) -> IndexCheck:
    """Check every checksum of an index, and on request its keys.

    `--files` and `--all` start Spark. They prove that the index names the data file, or the row
    block, of every row that was read. The exit status is 1 if something is wrong.
    """
    from lakesieve.report import IndexCheck

    if not (files or all_files):
        stored = _open(run, table, index).verify()
        return IndexCheck(index=index, table=table, stored=stored, rows=None)
    spark = run.session(table)
    opened = ls.open_index(table, index, spark=spark, location=run.location)
    stored, rows = opened.verify(), None
    if not stored.damaged:
        with run.output.building(f"Verifying {index} of {table}") as progress:
            rows = opened.verify_rows(files=None if all_files else files, progress=progress)
    return IndexCheck(index=index, table=table, stored=stored, rows=rows)


@command("repair", examples=("repair lake.tpch.lineitem l_orderkey --dry-run",))
def repair(run: Run, table: TableName, index: IndexName, dry_run: DryRun = False) -> Repaired:
    """Make a damaged index usable again from its undamaged parts.

    Data files that only damaged parts covered are read by every query until the next refresh.
    """
    return ls.repair_index(table, index, dry_run=dry_run, **run.reach(table))


@command(
    "vacuum",
    examples=(
        "vacuum lake.tpch.lineitem l_orderkey --dry-run",
        "vacuum lake.tpch.lineitem l_orderkey --retain 3 --hours 48",
    ),
)
def vacuum(
    run: Run,
    table: TableName,
    index: IndexName,
    *,
    retain: Annotated[
        int, option("Keep the states after this many last commits.", min=1, metavar="N")
    ] = RETAIN_COMMITS,
    hours: Annotated[
        float, option("Keep everything younger: longer than any build or query takes.", min=0)
    ] = SAFETY_AGE / timedelta(hours=1),
    dry_run: DryRun = False,
) -> Vacuumed:
    """Delete what no kept commit of an index needs, and leftovers of stopped builds."""
    return _open(run, table, index).vacuum(
        retain_commits=retain, older_than=timedelta(hours=hours), dry_run=dry_run
    )


@command("rollback", examples=("rollback lake.tpch.lineitem l_orderkey 4",))
def rollback(
    run: Run,
    table: TableName,
    index: IndexName,
    commit: Annotated[int, argument("COMMIT", "Number of a commit in `lakesieve history`.")],
) -> IndexInfo:
    """Return an index to its state after an earlier commit, by a new commit.

    Data files that the earlier state did not cover are read by every query until the next refresh.
    """
    return _open(run, table, index).rollback(commit)


@command(
    "drop",
    examples=("drop lake.shop.orders customer --dry-run", "drop lake.shop.orders customer --force"),
)
def drop(
    run: Run,
    table: TableName,
    index: IndexName,
    force: Annotated[
        bool, option("Also drop an index whose clones then become unusable.", "--force")
    ] = False,
    dry_run: DryRun = False,
) -> DroppedIndex:
    """Delete an index, but nothing of its table."""
    from lakesieve.report import DroppedIndex

    opened = _open(run, table, index)
    if not dry_run:
        opened.drop(force=force)
    return DroppedIndex(table=table, name=index, dry_run=dry_run)


def _open(run: Run, table: str, index: str) -> ls.Index:
    opened: ls.Index = ls.open_index(table, index, **run.reach(table))
    return opened
