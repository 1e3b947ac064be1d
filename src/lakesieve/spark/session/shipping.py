"""Sending the package to executors that lack it."""

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
"""Packages that workers import, besides PyArrow and NumPy, which PySpark itself needs."""

_LEFT_OUT = {"__pycache__", "templates"}


def ship(spark: SparkSession) -> None:
    """Bring this process's lakesieve to the executors of a session, whose Python may lack it.

    It goes to them as files of the application, which Spark copies to every executor before its
    next task, also to those that start later; they use it before one that they have. PyArrow and
    NumPy must be there. The executors' machines must be of the kind of this one and have its
    version of Python, as the package that reaches the storage is compiled. To call it again does
    nothing.

    Args:
        spark: The session.

    Raises:
        UnsupportedError: A session of Spark Connect.
        SetupError: A package is not installed here.

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
            raise not_installed(f"The package {package} is not installed here.", "spark")
        # workers import what lies in the folder of the application's files, by its name there
        archive = _zipped(Path(spec.submodule_search_locations[0]))
        context.addArchive(f"{archive.as_uri()}#{package}")


def _zipped(folder: Path) -> Path:
    """Pack a package into an archive that lasts as long as this process."""
    there = tempfile.mkdtemp(prefix="lakesieve-ship-")
    atexit.register(shutil.rmtree, there, ignore_errors=True)
    made = Path(there) / f"{folder.name}.zip"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            below = path.relative_to(folder)
            if path.is_file() and not _LEFT_OUT.intersection(below.parts):
                archive.write(path, below.as_posix())
    return made
