"""Memory of a Spark process, its JVM and its Python workers while they work."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from pyspark.sql import SparkSession

__all__ = ["Peaks", "live_heap"]


class Peaks:
    """Most bytes that this process and those that it started held, sampled while it is open.

    ``jvm``, ``worker`` (the largest) and ``workers`` (all at once) are resident sets. ``together``
    is everything at one moment, memory that processes share counted once (Linux' proportional set
    size).

    Args:
        every: Seconds between two samples.
    """

    def __init__(self, every: float = 0.2) -> None:
        self.jvm = self.worker = self.workers = self.together = 0
        self._every = every
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self.together == 0:
            raise AssertionError("No process was seen; is this Linux?")

    def _watch(self) -> None:
        while True:
            self._sample()
            if self._stop.wait(self._every):
                return

    def _sample(self) -> None:
        jvm, together, workers = 0, _held(os.getpid())[2], [0]
        for pid in _descendants(os.getpid()):
            name, resident, proportional = _held(pid)
            together += proportional
            if name == "java":
                jvm += resident
            else:
                workers.append(resident)
        self.jvm = max(self.jvm, jvm)
        self.worker = max(self.worker, *workers)
        self.workers = max(self.workers, sum(workers))
        self.together = max(self.together, together)


def live_heap(spark: SparkSession) -> int:
    """Bytes of the objects in the heap of a session's JVM that are not garbage."""
    jvm: Any = spark._jvm
    # what is used of the heap counts whole regions, some of which a large array hardly fills
    jcmd = Path(jvm.System.getProperty("java.home")) / "bin" / "jcmd"
    process = str(jvm.ProcessHandle.current().pid())
    ran = subprocess.run(
        [str(jcmd), process, "GC.class_histogram"], stdout=subprocess.PIPE, text=True, check=True
    )
    return int(ran.stdout.split()[-1])


def _held(pid: int) -> tuple[str, int, int]:
    """The name of a process, its resident and its proportional set; nothing if it is gone."""
    try:
        name = Path(f"/proc/{pid}/comm").read_text(encoding="ascii").strip()
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):
        return "", 0, 0
    facts = dict(line.split(":", 1) for line in lines[1:])
    resident, proportional = (int(facts[fact].split()[0]) << 10 for fact in ("Rss", "Pss"))
    return name, resident, proportional


def _descendants(pid: int) -> Iterator[int]:
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text(encoding="ascii").split()]
        except OSError:
            continue
        for child in children:
            yield child
            yield from _descendants(child)
