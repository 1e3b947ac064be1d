"""Commands that keep tables up: declared indexes, and equality deletes; once, or until stopped."""

from __future__ import annotations

import re
import signal
import threading
from typing import TYPE_CHECKING, Annotated

import typer

import lakesieve as ls
from lakesieve.cli.command import WITHOUT_LOCATION, Run, command
from lakesieve.cli.options import TableName, Version, option
from lakesieve.defaults import ADDRESS
from lakesieve.errors import (
    CommitConflictError,
    ErrorKind,
    InvalidInputError,
    LakesieveError,
    StorageError,
)

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from lakesieve.cli.session import Session
    from lakesieve.index.maintenance import MaintenanceStep, TableMaintenance
    from lakesieve.report.maintenance_metrics import MaintenanceMetrics
    from lakesieve.spark.deletes.result import Conversion, ConversionProgress, DeleteStatus

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@command("maintain", WITHOUT_LOCATION)
def maintain(
    run: Run,
    file: Annotated[
        str, typer.Argument(metavar="[FILE]", help="Declares tables and their indexes.")
    ] = "lakesieve.toml",
    *,
    watch: Annotated[
        str | None, option("Do it again after 30s, 5m or 1h, until stopped.", metavar="INTERVAL")
    ] = None,
    metrics_port: Annotated[
        int | None,
        option("With --watch: serve metrics for Prometheus there.", min=1, max=65535, metavar="N"),
    ] = None,
    metrics_host: Annotated[
        str, option("Address on which metrics are served.", metavar="ADDRESS")
    ] = ADDRESS,
    dry_run: Annotated[bool, option("Only show what is due.", "--dry-run")] = False,
) -> list[TableMaintenance] | None:
    """Create, refresh, compact and vacuum the indexes that a file declares."""
    from lakesieve.index.declared import read_declarations

    seconds = _interval(watch, dry_run=dry_run)
    if metrics_port is not None and watch is None:
        raise InvalidInputError(
            "A single round serves no metrics.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give --watch as well, such as --watch 5m.",
        )
    tables = read_declarations(file)
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

    _repeat(run, seconds, once)
    return None


def _metrics(port: int, host: str) -> MaintenanceMetrics:
    from lakesieve.report.maintenance_metrics import MaintenanceMetrics

    metrics = MaintenanceMetrics()
    metrics.serve(port, host)
    return metrics


@command("deletes status", WITHOUT_LOCATION)
def deletes_status(
    run: Run,
    table: TableName,
    version: Version = None,
    no_keys: Annotated[
        bool, option("Do not count keys, which reads the delete files.", "--no-keys")
    ] = False,
) -> DeleteStatus:
    """Show what the deletes of a table cost its readers."""
    return ls.deletes.status(table, spark=run.session(), version=version, count_keys=not no_keys)


@command("deletes convert")
def deletes_convert(
    run: Run,
    table: TableName,
    *,
    branch: Annotated[
        str | None,
        option("The branch; by default that of the current version.", metavar="NAME"),
    ] = None,
    partial_progress: Annotated[
        bool, option("Commit each partition as it is done.", "--partial-progress")
    ] = False,
    watch: Annotated[
        str | None,
        option(
            "Refresh the indexes, convert, and again after 30s, 5m or 1h, until stopped.",
            metavar="INTERVAL",
        ),
    ] = None,
    dry_run: Annotated[
        bool, option("Only plan, and show what there is to do.", "--dry-run")
    ] = False,
) -> Conversion | None:
    """Replace equality deletes by position deletes (v2) or deletion vectors (v3)."""
    seconds = _interval(watch, dry_run=dry_run)
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
    _repeat(run, seconds, lambda _: _refresh_and_convert(run, spark, table, once))
    return None


def _refresh_and_convert(
    run: Run, spark: Session, table: str, convert: Callable[[], Conversion]
) -> None:
    """Do one round; what may pass by itself is reported and left to the next."""
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


def _interval(watch: str | None, *, dry_run: bool) -> float | None:
    """Read an interval such as ``30s``, ``5m`` or ``1h`` in seconds; a bare number is seconds."""
    if watch is None:
        return None
    if dry_run:
        raise InvalidInputError(
            "A dry run is not watched.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give --watch or --dry-run, not both.",
        )
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", watch.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if seconds <= 0:
        raise InvalidInputError(
            f"{watch!r} is not an interval.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Write it as 30s, 5m or 1h.",
        )
    return seconds


def _repeat(run: Run, seconds: float, act: Callable[[Callable[[], bool]], None]) -> None:
    """Act at once and then at intervals, counted from the end of one act to the next.

    The first SIGINT or SIGTERM ends it after the current act; a second one does what it did before.
    ``act`` is given a function that says whether to go on, for an act of several steps.
    """
    stop = threading.Event()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        restore()

    for number in _SIGNALS:
        signal.signal(number, on_signal)
    try:
        while not stop.is_set():
            act(lambda: not stop.is_set())
            stop.wait(seconds)
    finally:
        restore()
    run.output.say("Stopped.")
