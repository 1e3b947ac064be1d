"""A build's progress as a bar: rows, files, rate, time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

from lakesieve.printable import printable
from lakesieve.report import units

if TYPE_CHECKING:
    from types import TracebackType

    from rich.console import Console

    from lakesieve.index.result import BuildProgress


_PHASES = {
    "plan": "listing data files",
    "sample": "sampling keys",
    "index": "reading data files",
    "verify": "reading data files",
    "commit": "committing",
}


class BuildBar:
    """Shows the progress of one build on a console; call it with each report.

    If the console is not a terminal, only one closing line is written. Reports may come from
    another thread.
    """

    def __init__(self, console: Console, title: str) -> None:
        self._console = console
        # what stands in a bar is markup, and no hook of the console sees it
        self._title = printable(title)
        self._last: BuildProgress | None = None
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[line]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        # a session or a listing may take seconds before the first report
        self._task = self._progress.add_task(escape(self._title), total=None, line="starting")

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()
        if error is None and self._last is not None:
            self._console.print(
                f"{self._title}: {progress_line(self._last)}", highlight=False, markup=False
            )

    def __call__(self, report: BuildProgress) -> None:
        """Show how far the build is."""
        self._last = report
        self._progress.update(
            self._task,
            # before the rows are known the bar only moves to and fro
            total=report.rows_total if report.rows_done else None,
            completed=report.rows_done,
            line=progress_line(report),
        )


def progress_line(report: BuildProgress) -> str:
    """One report in one line."""
    if not report.rows_done:
        phase = _PHASES.get(report.phase, report.phase)
        return f"{phase}, {units.duration(report.seconds)}"
    rate = report.rows_done / report.seconds if report.seconds > 0 else 0.0
    if report.rows_done == report.rows_total:
        amount = (
            f"{units.plural(report.rows_total, 'row')}, {units.plural(report.files_total, 'file')}"
        )
    else:
        amount = (
            f"{units.count(report.rows_done)} of {units.plural(report.rows_total, 'row')},"
            f" {units.count(report.files_done)} of {units.plural(report.files_total, 'file')}"
        )
    return f"{amount}, {units.count(round(rate))} rows/s, {units.duration(report.seconds)}"
