"""The commands on equality deletes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lakesieve.cli.command import ON_TABLES, Run, command
from lakesieve.cli.commands import TableName, Version
from lakesieve.deletes.result import Conversion, DeleteStatus
from lakesieve.report import units

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.deletes.result import ConversionProgress

__all__ = ["DELETES"]

# no index has a part in them
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
    """Tell what the deletes of a table cost its readers."""
    return run.api.deletes.status(
        table, spark=run.session(), version=version, count_keys=not no_keys
    )


@command("convert", _OPTIONS)
def convert(
    run: Run,
    table: TableName,
    branch: Annotated[
        str | None, typer.Option(metavar="NAME", help="The branch; by default the main one.")
    ] = None,
    partial_progress: Annotated[
        bool, typer.Option("--partial-progress", help="Commit each partition as it is done.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only plan, and tell what there is to do.")
    ] = False,
) -> Conversion:
    """Replace equality deletes by position deletes (v2) or deletion vectors (v3)."""
    return run.api.deletes.convert(
        table,
        spark=run.session(),
        branch=branch,
        dry_run=dry_run,
        partial_progress=partial_progress,
        progress=_teller(run),
    )


def _teller(run: Run) -> Callable[[ConversionProgress], None]:
    def tell(report: ConversionProgress) -> None:
        part = (
            f" {report.units_done + 1} of {report.units_total}" if report.phase == "write" else ""
        )
        marked = f"{units.plural(report.positions, 'row')} marked"
        run.output.say(f"{report.phase}{part}: {marked}, {units.duration(report.seconds)}")

    return tell


DELETES = (status, convert)
