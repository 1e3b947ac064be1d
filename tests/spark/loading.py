"""A process that starts a Spark session with given settings, and skips files in it.

Run as ``python -m tests.spark.loading FOLDER SETTINGS``, the settings as JSON. Prints as JSON the
jar that the driver has lakesieve's classes of, the versions of lakesieve that tasks found in their
own JVMs, and how many data files of how many a query read. A second session tells the same, and
how many scans the session extension pruned once skipping was switched off.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from tests.spark.restarts import files_of_a_point, query, write
from tests.spark.settings import SETTINGS

import lakesieve as ls
from lakesieve.spark.extension.result import EXTENSION
from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["loaded_with", "run_with"]


def run_with(folder: Path, settings: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run this script in a process of its own."""
    command = [sys.executable, "-m", "tests.spark.loading", str(folder), json.dumps(settings)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def loaded_with(folder: Path, settings: dict[str, str]) -> dict[str, Any]:
    """Run it, and return what it found."""
    ran = run_with(folder, settings)
    if ran.returncode:
        raise AssertionError(ran.stderr)
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def main(folder: str, settings: str) -> None:
    """Skip files in a session, and ask its executors for a class."""
    conf = SETTINGS | json.loads(settings)
    spark = ls.local_session(f"{folder}/warehouse", formats=["iceberg"], conf=conf)
    write(spark, "iceberg", folder)
    if EXTENSION in (spark.conf.get("spark.sql.extensions") or ""):
        # before Python takes part
        query(spark, "iceberg", folder)
        _versions(spark)
    ls.enable(spark)
    read = files_of_a_point(spark, "iceberg", folder)
    versions = _versions(spark)
    later = _read_later(spark.newSession(), folder)
    jar = own_class(spark, "spark.OwnJar").path()
    found = {"jar": jar, "versions": versions, "read": read, "later": later}
    sys.stdout.write(f"{json.dumps(found)}\n")
    spark.stop()


def _versions(spark: Any) -> list[str]:
    """Return the versions of lakesieve that tasks find. A task without the classes fails."""
    version = "reflect('lakesieve.LakesieveExtensions', 'version') AS version"
    tasks = spark.range(0, 8, 1, 4).selectExpr(version, "id").collect()
    return sorted({row["version"] for row in tasks})


def _read_later(session: Any, folder: str) -> list[Any]:
    """Skip files in a session that has a state and planned nothing, and then stop skipping."""
    session._jsparkSession.sessionState()
    ls.enable(session)
    read = files_of_a_point(session, "iceberg", folder)
    ls.disable(session)
    query(session, "iceberg", folder)
    if EXTENSION not in session.conf.get("spark.sql.extensions"):
        return [read, None]
    return [read, session.sql("SELECT * FROM lakesieve_last_pruning()").count()]


if __name__ == "__main__":
    main(*sys.argv[1:])
