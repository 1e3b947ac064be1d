"""How far a build's Spark jobs are, reported to a callback while they run."""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING

from lakesieve.index.result import BuildProgress
from lakesieve.spark.tables.jobs import own_jobs

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Self

    from pyspark.sql import SparkSession

__all__ = ["Watch"]

INTERVAL = 0.25


class Watch:
    """Polls Spark's status tracker from a thread and calls a callback.

    Use as a context manager around the jobs.

    Args:
        spark: The session that runs the jobs.
        callback: Called with each :class:`BuildProgress`, from another thread; ``None`` for quiet.
        description: Shown by Spark's own UI for the jobs.
    """

    def __init__(
        self,
        spark: SparkSession,
        callback: Callable[[BuildProgress], None] | None,
        description: str,
    ) -> None:
        self._context = spark.sparkContext
        self._jobs = own_jobs(spark, description)
        self._callback = callback
        self._description = description
        self._group = f"lakesieve-{uuid.uuid4().hex[:12]}"
        self._phase = "plan"
        self._rows = self._files = 0
        self._start = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True, name=self._group)

    def expect(self, *, rows: int, files: int) -> None:
        """Set what the whole is.

        Args:
            rows: Rows to read.
            files: Data files to read.
        """
        self._rows, self._files = rows, files

    def phase(self, name: str) -> None:
        """Name what is done from here on; its jobs are counted afresh."""
        self._phase = name
        self._context.setJobGroup(self._tag, self._description)

    @property
    def _tag(self) -> str:
        return f"{self._group}-{self._phase}"

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
            if error is None:
                self._tell("done", 1.0)
        # may raise a clearer error than the one it is given
        self._jobs.__exit__(kind, error, trace)

    def _poll(self) -> None:
        while not self._stop.wait(INTERVAL):
            self._tell(self._phase, self._fraction() if self._phase == "index" else 0.0)

    def _fraction(self) -> float:
        """Part of the tasks done; the shuffle's two stages count alike per task."""
        tracker = self._context.statusTracker()
        done = total = 0
        for job in tracker.getJobIdsForGroup(self._tag):
            info = tracker.getJobInfo(job)
            for stage in info.stageIds if info else ():
                stage_info = tracker.getStageInfo(stage)
                if stage_info is not None:
                    done += stage_info.numCompletedTasks
                    total += stage_info.numTasks
        return done / total if total else 0.0

    def _tell(self, phase: str, fraction: float) -> None:
        if self._callback is None:
            return
        self._callback(
            BuildProgress(
                phase=phase,
                rows_done=round(self._rows * fraction),
                rows_total=self._rows,
                files_done=round(self._files * fraction),
                files_total=self._files,
                seconds=time.monotonic() - self._start,
            )
        )
