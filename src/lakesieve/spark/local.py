"""Start a local Spark session."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING

from lakesieve.errors import (
    ErrorKind,
    InvalidInputError,
    SetupError,
    not_installed,
)
from lakesieve.spark.session.memory import memory_conf
from lakesieve.spark.tables.registry import FORMATS, check_formats
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.spark.tables.formats import FormatSpec
    from lakesieve.spark.versions.spark_versions import SparkVersion

MINIMUM_JAVA = 17
# before 4.2, Spark includes a Hadoop that calls Subject.getSubject, which fails since Java 24
MAXIMUM_JAVA_BEFORE_4_2 = 23
_WAREHOUSE = "spark.lakesieve.warehouse"
_SET_UP = "spark.lakesieve.formats"
_EXTENSIONS = "spark.sql.extensions"
_MASTER = "spark.master"


def local_session(
    warehouse: str | os.PathLike[str] = "warehouse",
    *,
    formats: Sequence[str] = ("iceberg",),
    memory: str | None = None,
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """Start (or return) a local Spark session, by default with an Iceberg catalog named ``lake``.

    At the first start, Spark downloads the jars from Maven Central and caches them.

    Args:
        warehouse: Folder of the catalog's tables. The first write creates it.
        formats: Table formats to set up: ``iceberg``, ``delta``, ``parquet``, and with Spark 3.5
            ``hudi``. Parquet needs no setup. Delta and Hudi both need the catalog
            ``spark_catalog``; the format that is named first gets it.
        memory: Memory of all processes of the session while indexes are built, such as ``2g``. The
            processes are this one, the JVM, and a Python worker for each task slot of
            ``spark.master``. It determines ``spark.driver.memory``, whose default is ``2g``.
        conf: Further Spark settings, which override the defaults.

    Raises:
        SetupError: Java 17 or newer, or PySpark, is not installed.
        UnsupportedError: The version of PySpark is not supported, or a format has no runtime for
            it.
        InvalidInputError: A format is unknown, or the memory is too small. Or a session with
            another warehouse, or without one of the formats, is already running in this process.

    Examples:
        >>> spark = ls.local_session("warehouse")
        >>> spark.table("lake.shop.orders").count()
        10000
    """
    version = check_machine(formats)
    # what enable() needs: PySpark puts the jars of the session on Python's path, and the next
    # import searches all of them, which takes half a second
    import encodings.idna  # noqa: F401

    from pyspark.sql import SparkSession

    from lakesieve.spark import api  # noqa: F401

    root = str(warehouse) if "://" in str(warehouse) else str(Path(warehouse).absolute())
    settings = _defaults(root, formats, version)
    if memory is not None:
        settings |= memory_conf(memory, dict(conf or {}).get("spark.master", settings[_MASTER]))
    settings |= dict(conf or {})
    # the workers need this environment's packages, and PySpark finds them only by this variable
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("lakesieve")
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    _check_running(spark, settings)
    spark.sparkContext.setLogLevel(settings["spark.log.level"])
    return spark


def check_machine(formats: Sequence[str]) -> SparkVersion:
    """Check that this machine can start a session for tables of some formats.

    Raises:
        SetupError: Java 17 or newer, or PySpark, is missing.
        UnsupportedError: This PySpark is of no supported line, or a format has no runtime for it.
        InvalidInputError: An unknown format.
    """
    unknown = sorted(set(formats) - set(FORMATS))
    if unknown or isinstance(formats, str):
        raise InvalidInputError(
            f"{unknown or formats!r} is not a list of table formats.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=f"Give a list of some of {', '.join(FORMATS)}.",
        )
    check_java()
    try:
        import pyspark
    except ImportError as error:
        raise not_installed("PySpark is not installed.", "spark") from error
    version = spark_version_of(pyspark.__version__)
    check_formats(version, formats)
    return version


def _check_running(spark: SparkSession, wanted: Mapping[str, str]) -> None:
    started = spark.sparkContext.getConf()
    running = started.get(_WAREHOUSE, None)
    if running != wanted[_WAREHOUSE]:
        which = f"A session with the warehouse {running}" if running else "Another Spark session"
        raise InvalidInputError(
            f"{which} is already running.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Stop it with spark.stop() first, or use the same warehouse.",
        )
    missing = set(wanted[_SET_UP].split()) - set(str(started.get(_SET_UP, "")).split())
    if missing:
        raise InvalidInputError(
            f"A session without {', '.join(sorted(missing))} is already running.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Stop it with spark.stop() first. A running session cannot load jars.",
        )


def _defaults(warehouse: str, formats: Sequence[str], version: SparkVersion) -> dict[str, str]:
    specs = [spec for name, spec in FORMATS.items() if name in formats]
    settings = {
        _MASTER: "local[*]",
        "spark.driver.memory": "2g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.warehouse.dir": str(Path(warehouse) / "_spark")
        if "://" not in warehouse
        else "spark-warehouse",
        _WAREHOUSE: warehouse,
        _SET_UP: " ".join(sorted(set(formats))),
        **packages_conf(version, specs),
    }
    # extensions are listed in the given order; a single setting goes to the format named first
    for name in reversed(formats):
        settings |= FORMATS[name].settings
    extensions = [spec.settings[_EXTENSIONS] for spec in specs if _EXTENSIONS in spec.settings]
    if extensions:
        settings[_EXTENSIONS] = ",".join(extensions)
    for spec in specs:
        settings |= spec.catalog_settings(warehouse)
    return settings


def packages_conf(version: SparkVersion, specs: Iterable[FormatSpec]) -> dict[str, str]:
    """Return the settings that make Spark download the format runtimes from Maven Central."""
    packages = [spec.packages[version.name] for spec in specs if spec.packages is not None]
    with resources.as_file(resources.files("lakesieve.spark") / "ivysettings.xml") as ivy:
        # a local Maven cache may have POMs without jars, on which Ivy's default chain fails
        settings = {"spark.jars.ivySettings": str(ivy)}
    return settings | ({"spark.jars.packages": ",".join(packages)} if packages else {})


def check_java() -> None:
    """Check that a Java is installed on which the installed PySpark can start."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    hint = (
        f"Install Java {MINIMUM_JAVA} or newer (for example the package openjdk-17-jre-headless, "
        "or Temurin 21) and point JAVA_HOME at it."
    )
    if java is None or shutil.which(java) is None:
        problem = f"JAVA_HOME={home} contains no bin/java" if home else "no java on the PATH"
        raise SetupError(f"Java was not found: {problem}.", kind=ErrorKind.JAVA_MISSING, hint=hint)
    process = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)
    match = re.search(r'version "(\d+)(?:\.(\d+))?', process.stderr + process.stdout)
    if match is None:
        return
    major = int(match[2] or 0) if match[1] == "1" else int(match[1])
    if major < MINIMUM_JAVA:
        raise SetupError(
            f"Java {major} at {java} is too old.", kind=ErrorKind.JAVA_MISSING, hint=hint
        )
    if major > MAXIMUM_JAVA_BEFORE_4_2 and _pyspark() < (4, 2):
        raise SetupError(
            f"Java {major} at {java} is too new for Spark before 4.2.",
            kind=ErrorKind.JAVA_MISSING,
            hint="Point JAVA_HOME at Java 17 to 23, or install pyspark 4.2 or newer.",
        )


def _pyspark() -> tuple[int, int]:
    """Return the version of the installed PySpark as (major, minor)."""
    try:
        match = re.match(r"(\d+)\.(\d+)", metadata.version("pyspark"))
    except metadata.PackageNotFoundError:
        match = None
    # without PySpark, another error follows
    return (int(match[1]), int(match[2])) if match else (99, 0)
