"""The command that keeps declared indexes up."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import lakesieve as ls
from lakesieve.cli.command import ON_TABLES, Run, command
from lakesieve.cli.watch import every, seconds_of
from lakesieve.errors import ErrorKind, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.index.maintenance import MaintenanceStep, TableMaintenance
    from lakesieve.report.metrics import MaintenanceMetrics

# each table says where its indexes are
_OPTIONS = {name: option for name, option in ON_TABLES.items() if name != "location"}


@command("maintain", _OPTIONS)
def maintain(
    run: Run,
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="Declares tables and their indexes.")
    ] = "lakesieve.toml",
    *,
    watch: Annotated[
        str | None,
        typer.Option(metavar="INTERVAL", help="Do it again after 30s, 5m or 1h, until stopped."),
    ] = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65535, metavar="N", help="With --watch: serve metrics for Prometheus there."
        ),
    ] = None,
    metrics_host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address on which metrics are served.")
    ] = "127.0.0.1",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only show what is due.")] = False,
) -> list[TableMaintenance] | None:
    """Create, refresh, compact and vacuum the indexes that a file declares."""
    from lakesieve.index.declared import read_declarations

    if dry_run and watch is not None:
        raise InvalidInputError(
            "A dry run is not watched.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give --watch or --dry-run, not both.",
        )
    if metrics_port is not None and watch is None:
        raise InvalidInputError(
            "A single round serves no metrics.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give --watch as well, such as --watch 5m.",
        )
    tables = read_declarations(file)
    seconds = None if watch is None else seconds_of(watch)
    metrics = None if metrics_port is None else _metrics(metrics_port, metrics_host)
    spark = run.session(tables=[table.name for table in tables])

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

    every(seconds, once)
    run.output.say("Stopped.")
    return None


def _metrics(port: int, host: str) -> MaintenanceMetrics:
    from lakesieve.report.metrics import MaintenanceMetrics

    metrics = MaintenanceMetrics()
    metrics.serve(port, host)
    return metrics


MAINTAIN = (maintain,)
