"""Write the jar that makes any session of one version of Spark skip files."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from lakesieve.errors import not_installed
from lakesieve.spark.extension.result import JarInfo
from lakesieve.spark.tables.registry import formats_of
from lakesieve.spark.versions.jar import jar_of
from lakesieve.spark.versions.spark_versions import spark_version_of
from lakesieve.storage import write_file

if TYPE_CHECKING:
    import os


def write_jar(
    path: str | os.PathLike[str] = "lakesieve-spark.jar", *, spark: str | None = None
) -> JarInfo:
    """Write the jar for sessions of a version of Spark, on any cluster.

    Args:
        path: The file to write. An existing file is replaced.
        spark: The version of Spark, such as ``4.1``; by default that of the installed PySpark.

    Raises:
        SetupError: No version is given, and PySpark is not installed.
        UnsupportedError: lakesieve has no jar for this version.
        StorageError: The file cannot be written.
    """
    version = spark_version_of(f"{spark}.0" if spark else _installed())
    jar = jar_of(version)
    target = Path(path)
    content = jar.read_bytes()
    write_file(target, content, option="--output")
    with zipfile.ZipFile(jar) as archive:
        classes = sum(name.endswith(".class") for name in archive.namelist())
    return JarInfo(
        path=str(target.absolute()),
        spark=version.name,
        formats=tuple(sorted(spec.name for spec in formats_of(version))),
        classes=classes,
        size=len(content),
        tested=version.is_tested,
    )


def _installed() -> str:
    try:
        import pyspark
    except ImportError as error:
        raise not_installed(
            "PySpark is not installed, and no version of Spark is given (--spark).", "spark"
        ) from error
    return str(pyspark.__version__)
