from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from lakesieve.index.result import BuildProgress
from lakesieve.report import BuildBar, progress_line
from lakesieve.spark.build.progress import Onward


def progress(*, rows: int, seconds: float = 2.0) -> BuildProgress:
    return BuildProgress(
        phase="sample",
        rows_done=rows,
        rows_total=1000,
        files_done=rows // 100,
        files_total=10,
        seconds=seconds,
    )


def test_a_report_is_a_line() -> None:
    """Rows, files and rate are shown once there are rows, the phase before that."""
    assert progress_line(progress(rows=0)) == "sampling keys, 2.00 s"
    assert progress_line(progress(rows=500)) == (
        "500 of 1,000 rows, 5 of 10 files, 250 rows/s, 2.00 s"
    )
    assert progress_line(progress(rows=1000)) == "1,000 rows, 10 files, 500 rows/s, 2.00 s"


def test_no_time_gives_no_rate() -> None:
    """A build that took no measurable time does not divide by it."""
    assert progress_line(progress(rows=1000, seconds=0.0)).endswith("0 rows/s, 0 ms")


def test_a_pipe_gets_only_the_closing_line() -> None:
    """On what is no terminal the bar is one line, written at the end."""
    file = io.StringIO()
    with BuildBar(Console(file=file), "Indexing id") as bar:
        bar(progress(rows=500))
        bar(progress(rows=1000))

    assert file.getvalue() == "Indexing id: 1,000 rows, 10 files, 500 rows/s, 2.00 s\n"


def test_what_is_done_never_decreases() -> None:
    """Over tasks that Spark learns of late, a build that is repeated, and further builds."""
    heard: list[BuildProgress] = []
    onward = Onward(heard.append)
    for phase, rows in (("plan", 0), ("index", 700), ("index", 400), ("done", 1000)):
        onward(replace(progress(rows=rows), phase=phase))
    for phase, rows in (("plan", 0), ("index", 500), ("done", 1000)):
        onward(replace(progress(rows=rows), phase=phase))

    done = [(report.rows_done, report.files_done) for report in heard]
    assert done == sorted(done)
    assert [rows for rows, _ in done] == [0, 700, 700, 1000, 1000, 1500, 2000]
    assert [report.rows_total for report in heard] == [1000] * 4 + [2000] * 3
    seconds = [report.seconds for report in heard]
    assert seconds == sorted(seconds)
