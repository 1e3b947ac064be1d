"""Report the progress of a build's Spark jobs to a callback while they run."""

from __future__ import annotations

import threading
import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.index.result import BuildProgress
from lakesieve.spark.tables.jobs import own_jobs
from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from pyspark.sql import SparkSession

    _State = tuple[str, tuple[int, int], tuple[int, int]]

INTERVAL = 0.25
READING = ("index", "verify")
"""Phases whose jobs read the data files."""


class Onward:
    """Hears the reports of builds that follow one another, and passes on their sums.

    What it passes on never decreases: Spark learns of further tasks while it runs, and a build
    that is repeated begins anew.
    """

    def __init__(self, callback: Callable[[BuildProgress], None]) -> None:
        self._callback = callback
        self._start = time.monotonic()
        # rows and files of the builds that are over, and of the last report
        self._over = self._last = (0, 0)

    def __call__(self, report: BuildProgress) -> None:
        """Pass on a report."""
        rows, files = self._over
        self._last = (
            max(self._last[0], rows + report.rows_done),
            max(self._last[1], files + report.files_done),
        )
        self._callback(
            replace(
                report,
                rows_done=self._last[0],
                rows_total=max(self._last[0], rows + report.rows_total),
                files_done=self._last[1],
                files_total=max(self._last[1], files + report.files_total),
                seconds=time.monotonic() - self._start,
            )
        )
        if report.phase == "done":
            self._over = (rows + report.rows_total, files + report.files_total)


class Watch:
    """While its context is open, a thread polls Spark's status tracker and calls a callback.

    Args:
        spark: The session that runs the jobs.
        callback: Called with each :class:`BuildProgress`, from another thread; ``None`` for none.
        description: Description of the jobs in Spark's UI.

    Attributes:
        has_failed: Set if the work failed: then the callback does not get the phase ``done``.
    """

    def __init__(
        self,
        spark: SparkSession,
        callback: Callable[[BuildProgress], None] | None,
        description: str,
    ) -> None:
        self._spark = spark
        self._context = spark.sparkContext
        self._jobs = own_jobs(spark, description)
        if callback is not None and not isinstance(callback, Onward):
            callback = Onward(callback)
        self._callback = callback
        self._description = description
        self._group = f"lakesieve-{uuid.uuid4().hex[:12]}"
        self._phases = 0
        self.has_failed = False
        self._rows = self._files = 0
        # the phase; (rows, files) that are done before the current portion; (rows, files) of the
        # portion
        self._state = ("plan", (0, 0), (0, 0))
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True, name=self._group)

    def expect(self, *, rows: int, files: int) -> None:
        """Set how many rows and files will be read in total."""
        self._rows, self._files = rows, files
        self.portion(before=(0, 0), portion=(rows, files))

    def portion(self, *, before: tuple[int, int], portion: tuple[int, int]) -> None:
        """Set the rows and files that the next jobs read, and those that are done before."""
        self._state = ("plan", before, portion)

    def phase(self, name: str) -> None:
        """Begin a phase, whose jobs are counted from zero.

        Raises:
            LakesieveError: The SQL statement that runs the build was cancelled.
        """
        self.check()
        self._phases += 1
        self._state = (name, *self._state[1:])
        # without a callback, the jobs stay in the group of the caller, who may cancel it
        if self._callback is not None:
            self._context.setJobGroup(self._tag, self._description)

    def check(self) -> None:
        """Raise an error if a SQL statement runs this build and was cancelled.

        Between two Spark jobs, only this check stops a cancelled build.

        Raises:
            LakesieveError: The statement was cancelled.
        """
        if own_class(self._spark, "statements.RunningStatement").isCancelled():
            raise LakesieveError(
                "The statement was cancelled.",
                kind=ErrorKind.CANCELLED,
                hint="The data files that were being indexed are not in the index.",
            )

    @property
    def _tag(self) -> str:
        return f"{self._group}-{self._phases}-{self._state[0]}"

    def __enter__(self) -> Self:
        self._jobs.__enter__()
        if self._callback is not None:
            self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stop.set()
        if self._callback is not None:
            self._thread.join(timeout=5)
            if error is None and not self.has_failed:
                self._tell(("done", (0, 0), (self._rows, self._files)), 1.0)
        # this may raise a clearer error than the one it gets
        self._jobs.__exit__(kind, error, trace)

    def _poll(self) -> None:
        while True:
            state = self._state
            reads = state[0] in READING
            self._tell(state, self._fraction() if reads else float(state[0] == "commit"))
            if self._stop.wait(INTERVAL):
                return

    def _fraction(self) -> float:
        """Return the share of the stages that is done. A stage that has not begun counts as one."""
        tracker = self._context.statusTracker()
        done, stages = 0.0, 0
        for job in tracker.getJobIdsForGroup(self._tag):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                stages += 1
                stage_info = tracker.getStageInfo(stage)
                if stage_info is not None and stage_info.numTasks:
                    done += stage_info.numCompletedTasks / stage_info.numTasks
        return done / stages if stages else 0.0

    def _tell(self, state: _State, fraction: float) -> None:
        if self._callback is None:
            return
        phase, before, portion = state
        self._callback(
            BuildProgress(
                phase=phase,
                rows_done=before[0] + round(portion[0] * fraction),
                rows_total=self._rows,
                files_done=before[1] + round(portion[1] * fraction),
                files_total=self._files,
                seconds=0.0,
            )
        )
