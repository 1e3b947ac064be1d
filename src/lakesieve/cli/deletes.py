"""The commands on equality deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import lakesieve as ls
from lakesieve.cli.command import ON_TABLES, Run, command
from lakesieve.cli.commands import TableName, Version
from lakesieve.cli.watch import every, seconds_of
from lakesieve.errors import (
    CommitConflictError,
    ErrorKind,
    InvalidInputError,
    LakesieveError,
    StorageError,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.cli.session import Session
    from lakesieve.spark.deletes.result import Conversion, ConversionProgress, DeleteStatus

__all__ = ["DELETES"]

# indexes are not involved
_OPTIONS = {name: option for name, option in ON_TABLES.items() if name != "location"}


@command("status", _OPTIONS)
def status(
    run: Run,
    table: TableName,
    version: Version = None,
    no_keys: Annotated[
        bool, typer.Option("--no-keys", help="Do not count keys, which reads the delete files.")
    ] = False,
) -> DeleteStatus:
    """Show what the deletes of a table cost its readers."""
    return ls.deletes.status(table, spark=run.session(), version=version, count_keys=not no_keys)


@command("convert", ON_TABLES)
def convert(
    run: Run,
    table: TableName,
    *,
    branch: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The branch; by default that of the current version."),
    ] = None,
    partial_progress: Annotated[
        bool, typer.Option("--partial-progress", help="Commit each partition as it is done.")
    ] = False,
    watch: Annotated[
        str | None,
        typer.Option(
            metavar="INTERVAL",
            help="Refresh the indexes, convert, and again after 30s, 5m or 1h, until stopped.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only plan, and show what there is to do.")
    ] = False,
) -> Conversion | None:
    """Replace equality deletes by position deletes (v2) or deletion vectors (v3)."""
    if watch is not None and dry_run:
        raise InvalidInputError(
            "A dry run is not watched.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give --watch or --dry-run, not both.",
        )
    seconds = None if watch is None else seconds_of(watch)
    spark = run.session()

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
    every(seconds, lambda _: _maintain(run, spark, table, once))
    run.output.say("Stopped.")
    return None


def _maintain(run: Run, spark: Session, table: str, convert: Callable[[], Conversion]) -> None:
    """One round; what may pass by itself is reported and left to the next."""
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
        progress = (
            f" {report.units_done + 1} of {report.units_total}" if report.phase == "write" else ""
        )
        marked = f"{units.plural(report.positions, 'row')} marked"
        run.output.say(f"{report.phase}{progress}: {marked}, {units.duration(report.seconds)}")

    return tell


DELETES = (status, convert)
