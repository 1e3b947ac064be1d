"""Commands on row-level deletes: what they cost, and how to remove them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import lakesieve as ls
from lakesieve.cli.command import WITHOUT_LOCATION, Run, command
from lakesieve.cli.options import DryRun, TableName, Version, Watch, option
from lakesieve.cli.watching import repeat, seconds_between
from lakesieve.defaults import MARKED_FILES
from lakesieve.errors import (
    CommitConflictError,
    ErrorKind,
    LakesieveError,
    StorageError,
    UnsupportedError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.cli.session import Session
    from lakesieve.index.table_info import TableStatus
    from lakesieve.spark.deletes.result import Conversion, ConversionProgress, DeleteStatus
    from lakesieve.tables import TableReader


@command(
    "status",
    examples=(
        "status lake.shop.orders",
        "status lake.tpch.lineitem --threshold 0.05 --version audited",
    ),
    more="commands.md#what-they-leave-behind",
)
def status(
    run: Run,
    table: TableName,
    version: Version = None,
    threshold: Annotated[
        float,
        option("Suggest upkeep above this share of data files with deletes.", min=0, max=1),
    ] = MARKED_FILES,
) -> TableStatus:
    """Count the data files that carry row-level deletes, and suggest how to remove them.

    Row-level deletes are position deletes and deletion vectors of Iceberg, deletion vectors of
    Delta, and log files of Hudi.
    """
    return ls.status(table, spark=run.session(table), version=version, threshold=threshold)


@command(
    "deletes status",
    WITHOUT_LOCATION,
    examples=(
        "deletes status lake.shop.orders",
        "deletes status lake.tpch.lineitem --version audited --no-keys",
    ),
    more="equality-deletes.md",
)
def deletes_status(
    run: Run,
    table: TableName,
    version: Version = None,
    no_keys: Annotated[
        bool, option("Do not count distinct keys, which reads all delete files.", "--no-keys")
    ] = False,
) -> DeleteStatus:
    """Show what the deletes of an Iceberg table cost its readers.

    The result has the delete files, records and keys, and the memory that Iceberg's own reader
    needs beside the memory of an executor.
    """
    spark = run.session(table, check=_has_equality_deletes)
    return ls.deletes.status(table, spark=spark, version=version, count_keys=not no_keys)


@command(
    "deletes convert",
    WITHOUT_LOCATION,
    examples=(
        "deletes convert lake.shop.orders --dry-run",
        "deletes convert lake.shop.orders --branch main --partial-progress",
        "deletes convert lake.shop.orders --watch 5m",
    ),
    more="equality-deletes.md",
)
def deletes_convert(
    run: Run,
    table: TableName,
    *,
    branch: Annotated[
        str | None,
        option("Convert this branch, not the current version's.", metavar="NAME"),
    ] = None,
    partial_progress: Annotated[
        bool, option("Commit each partition when it is done.", "--partial-progress")
    ] = False,
    watch: Watch = None,
    dry_run: DryRun = False,
) -> Conversion | None:
    """Replace equality deletes by position deletes (v2) or deletion vectors (v3).

    The rows of the table stay the same. After `--partial-progress`, the next run continues where
    the last one ended. `--watch` first refreshes the indexes; the first SIGINT or SIGTERM ends it
    after the current step.
    """
    seconds = seconds_between(watch, dry_run=dry_run)
    spark = run.session(table, check=_has_equality_deletes)

    def once() -> Conversion:
        return ls.deletes.convert(
            table,
            spark=spark,
            branch=branch,
            location=run.location,
            dry_run=dry_run,
            partial_progress=partial_progress,
            progress=_teller(run),
        )

    if seconds is None:
        return once()
    repeat(run, seconds, lambda _: _refresh_and_convert(run, spark, table, once))
    return None


def _has_equality_deletes(table: TableReader) -> None:
    """Refuse a table whose format has no equality deletes."""
    if table.format != "iceberg":
        raise UnsupportedError(
            f"{table.name} is a table of the format {table.format}, which has no equality deletes.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="lakesieve status counts the row-level deletes of every format.",
        )


def _refresh_and_convert(
    run: Run, spark: Session, table: str, convert: Callable[[], Conversion]
) -> None:
    """Do one round. Temporary errors are reported and left to the next round."""
    from lakesieve.report import units

    for info in ls.list_indexes(table, spark=spark, location=run.location):
        try:
            index = ls.open_index(table, info.name, spark=spark, location=run.location)
            refreshed = index.refresh()
        except LakesieveError as error:
            run.output.error(f"The index {info.name} was not refreshed: {error}")
        else:
            run.output.say(f"{info.name}: {units.plural(refreshed.files, 'file')} indexed")
    try:
        done = convert()
    except (CommitConflictError, StorageError) as error:
        run.output.error(str(error))
        return
    if done.commits:
        run.output.result(done)
    else:
        run.output.say("Nothing to convert.")


def _teller(run: Run) -> Callable[[ConversionProgress], None]:
    from lakesieve.report import units

    def tell(report: ConversionProgress) -> None:
        of = f" {report.units_done + 1} of {report.units_total}" if report.phase == "write" else ""
        marked = f"{units.plural(report.positions, 'row')} marked"
        run.output.say(f"{report.phase}{of}: {marked}, {units.duration(report.seconds)}")

    return tell
