"""``lakesieve maintain --watch`` beside a writer, killed now and then: it keeps up.

``LAKESIEVE_MAINTAINED_SECONDS=600`` writes for so long; ``LAKESIEVE_SEED`` draws other moments.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.error import URLError

from tests.depth import depth, is_soak
from tests.ports import free_port

import lakesieve as ls

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SECONDS = depth("MAINTAINED_SECONDS", test=5, soak=600)
KILLS = depth("MAINTAINED_KILLS", test=1, soak=6)
# files that may lag when a round begins: those of the round before, and of a start after a kill
LAG = 60
COMMAND = str(Path(sys.executable).with_name("lakesieve"))
_PATIENCE = 120.0


class Maintainer:
    """The command in a process group of its own.

    Args:
        warehouse: Of the catalog.
        file: What is declared.
        log: Where it writes.
    """

    def __init__(self, warehouse: str, file: Path, log: Path) -> None:
        self.port = free_port()
        settings = ("spark.master=local[1]", "spark.driver.memory=1g", "spark.ui.enabled=false")
        confs = [text for setting in settings for text in ("--spark-conf", setting)]
        command = [
            *(COMMAND, "maintain", str(file), "--watch", "0.5s"),
            *("--warehouse", warehouse, "--metrics-port", str(self.port), *confs),
        ]
        with log.open("a") as out:
            self._process = subprocess.Popen(
                command, stdout=out, stderr=out, start_new_session=True
            )

    def metric(self, name: str) -> float | None:
        """A metric of the table, if a round has ended."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as got:
                lines = got.read().decode().splitlines()
        except (URLError, OSError):
            return None
        found = [float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{name}{{")]
        return found[0] if found else None

    def held(self) -> int:
        """Resident bytes of the process and of Java together."""
        total = 0
        for status in Path("/proc").glob("[0-9]*/status"):
            try:
                if os.getpgid(int(status.parent.name)) != self._process.pid:
                    continue
                facts = dict(line.split(":", 1) for line in status.read_text().splitlines())
            except (OSError, ValueError):
                continue
            total += int(facts.get("VmRSS", "0 kB").split()[0]) << 10
        return total

    def kill(self) -> None:
        """Kill it with all that it started, if any of that is left."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()

    def end(self) -> int:
        """Ask it to end; its status."""
        self._process.send_signal(signal.SIGTERM)
        return self._process.wait(_PATIENCE)


def test_it_keeps_up_with_a_writer(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """With a commit each second, the lag is bounded, every key is found, and no commit fails."""
    drawn = random.Random(os.environ.get("LAKESIEVE_SEED", "maintained"))
    spark.sql(f"CREATE TABLE {table} USING iceberg AS SELECT id FROM range(0, 100, 1, 2)")
    file, log = tmp_path / "lakesieve.toml", tmp_path / "log"
    settings = "retain_commits = 2\nretain_hours = 0.001"
    file.write_text(f'[tables."{table}"]\n{settings}\nindexes = [["id"]]\n')
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse"))
    kills = sorted(drawn.uniform(0, 0.6 * SECONDS) for _ in range(KILLS))
    maintainer = Maintainer(warehouse, file, log)
    lags: list[float] = []
    sizes: list[int] = []
    begun, number = time.monotonic(), 0
    try:
        while (passed := time.monotonic() - begun) < SECONDS:
            number += 1
            spark.range(1000 * number, 1000 * number + 10, 1, 1).writeTo(table).append()
            lag = maintainer.metric("lakesieve_lag_files")
            if lag is not None:
                lags.append(lag)
                sizes.append(maintainer.held())
            if kills and passed > kills[0]:
                kills.pop(0)
                maintainer.kill()
                maintainer = Maintainer(warehouse, file, log)
                sizes.clear()
            time.sleep(max(0.0, begun + number - time.monotonic()))
        # a round that begins with nothing left to do
        until = time.monotonic() + _PATIENCE
        while maintainer.metric("lakesieve_lag_files") != 0 and time.monotonic() < until:
            time.sleep(0.5)
        assert maintainer.metric("lakesieve_lag_files") == 0, log.read_text()
        assert maintainer.end() == 0
    finally:
        maintainer.kill()
    assert max(lags, default=0) <= LAG
    if is_soak():
        assert sizes[-1] < 1.3 * max(sizes[: len(sizes) // 3])
    index = ls.open_index(table, "id", spark=spark)
    assert index.verify().is_sound
    assert index.verify_rows(files=None).wrong == ()
    located = index.locate(spark.table(table))
    assert located.uncovered == ()
    assert located.pairs.count() == spark.table(table).count() == 100 + 10 * number
