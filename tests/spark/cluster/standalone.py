"""A standalone cluster of Spark on loopback: a master and two workers, a process each."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import venv
from pathlib import Path
from typing import TYPE_CHECKING

import pyspark
from tests.ports import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Cluster", "bare_python", "running_cluster"]

SPARK_HOME = Path(pyspark.__file__).parent
_DEPLOY = "org.apache.spark.deploy"
_SECONDS = 60


def bare_python(folder: Path) -> Path:
    """A Python of its own that has this one's packages, but for lakesieve and obstore.

    Args:
        folder: Where it is made.
    """
    venv.create(folder, symlinks=True, with_pip=False)
    (own,) = folder.glob("lib/python*/site-packages")
    for name in ("pyarrow", "numpy", "pandas", "dateutil", "pytz", "six.py", "tzdata"):
        for site in map(Path, sys.path):
            if (site / name).exists() and site.name == "site-packages":
                (own / name).symlink_to(site / name)
                break
    for libraries in {p.parent for p in own.glob("*") if p.is_symlink()}:
        for site in map(Path, sys.path):
            for found in site.glob("*.libs") if site.name == "site-packages" else ():
                link = libraries / found.name
                if not link.exists():
                    link.symlink_to(found)
    return folder / "bin" / "python"


class Cluster:
    """The processes of a cluster.

    Args:
        folder: Where workers keep what they work on.
        workers: How many, with a task slot each.
    """

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        port = free_port()
        self.master = f"spark://127.0.0.1:{port}"
        where = ("--host", "127.0.0.1", "--port", str(port))
        self._start("master.Master", *where, "--webui-port", str(free_port()))
        for number in range(workers):
            own = folder / f"worker-{number}"
            resources = ("--cores", "1", "--memory", "1g", "--work-dir", str(own))
            self._start(
                "worker.Worker",
                *("--host", "127.0.0.1", "--webui-port", str(free_port())),
                *(*resources, self.master),
            )
        self._wait(workers)

    def _start(self, name: str, *arguments: str) -> None:
        environment = {"SPARK_HOME": str(SPARK_HOME), "SPARK_LOCAL_IP": "127.0.0.1"}
        with (self._folder / f"{len(self._processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(SPARK_HOME / "bin" / "spark-class"), f"{_DEPLOY}.{name}", *arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                env=os.environ | environment,
                start_new_session=True,
            )
        self._processes.append(process)

    def _wait(self, workers: int) -> None:
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            text = (self._folder / "0.log").read_text(errors="replace")
            if len(re.findall(r"Registering worker", text)) == workers:
                return
            time.sleep(0.1)
        raise RuntimeError(f"the cluster did not start; see {self._folder}")

    def executors(self) -> list[int]:
        """Process ids of the JVMs that run tasks."""
        workers = {process.pid for process in self._processes}
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
                if (
                    int(parent) in workers
                    and b"ExecutorBackend" in (entry / "cmdline").read_bytes()
                ):
                    found.append(int(entry.name))
        return found

    def stop(self) -> None:
        """End all processes, and those that they started."""
        for process in reversed(self._processes):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def running_cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster of two workers, until the end of the block.

    Args:
        folder: Where workers keep what they work on.
    """
    cluster = Cluster(folder)
    try:
        yield cluster
    finally:
        cluster.stop()
