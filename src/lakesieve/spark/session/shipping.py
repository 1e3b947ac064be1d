"""Send the package to executors that do not have it."""

from __future__ import annotations

import atexit
import shutil
import tempfile
import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from lakesieve.errors import not_installed
from lakesieve.spark.versions.spark_versions import check_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGES = ("lakesieve", "obstore")
"""Packages that workers import, except PyArrow and NumPy, which PySpark itself needs."""

_LEFT_OUT = {"__pycache__", "templates"}


def ship(spark: SparkSession) -> None:
    """Send this process's lakesieve to the executors of a session, whose Python may lack it.

    The package is sent as files of the application. Spark copies these to every executor before its
    next task, and to executors that start later. Executors prefer this copy to an installed one.
    They must have PyArrow and NumPy. Their machines must have the same platform and Python version
    as this one, because the package that reaches the storage is compiled. Calling this again does
    nothing.

    Args:
        spark: The session.

    Raises:
        UnsupportedError: The session is a Spark Connect session.
        SetupError: A package is not installed on this machine.

    Examples:
        >>> ls.ship(spark)
    """
    check_session(spark)
    context = spark.sparkContext
    there = {name.rpartition("#")[2] for name in context.listArchives}
    for package in PACKAGES:
        if package in there:
            continue
        spec = find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise not_installed(f"The package {package} is not installed on this machine.", "spark")
        # workers import packages from the folder of the application's files
        archive = _zipped(Path(spec.submodule_search_locations[0]))
        context.addArchive(f"{archive.as_uri()}#{package}")


def _zipped(folder: Path) -> Path:
    """Pack a package into an archive that is deleted when this process ends."""
    there = tempfile.mkdtemp(prefix="lakesieve-ship-")
    atexit.register(shutil.rmtree, there, ignore_errors=True)
    archive_path = Path(there) / f"{folder.name}.zip"
    with zipfile.ZipFile(archive_path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            below = path.relative_to(folder)
            if path.is_file() and not _LEFT_OUT.intersection(below.parts):
                archive.write(path, below.as_posix())
    return archive_path
