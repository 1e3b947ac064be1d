"""The jar with the classes that lakesieve runs inside Spark. Each version of Spark has one."""

from __future__ import annotations

import threading
from importlib import metadata, resources
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from lakesieve.errors import ErrorKind, SetupError, UnsupportedError
from lakesieve.spark.versions.java_classes import context_loader, has_class, java_class
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesieve.spark.versions.spark_versions import SparkVersion

_EXTENSION = "lakesieve.LakesieveExtensions"
# Spark's class loaders to which jars can be added
_LOADERS = frozenset(
    {
        "org.apache.spark.util.MutableURLClassLoader",
        "org.apache.spark.util.ChildFirstURLClassLoader",
    }
)
_LOCK = threading.Lock()
# JVMs that have the jar, by their py4j gateway
_LOADED: WeakSet[Any] = WeakSet()


def jar_of(version: SparkVersion) -> Path:
    """Return the path of the jar for a version of Spark, which is part of the package."""
    name = f"lakesieve-spark-{version.jar}.jar"
    path = Path(str(resources.files("lakesieve.spark") / "jars" / name))
    if not path.is_file():
        raise SetupError(
            f"This installation of lakesieve has no {name}.",
            kind=ErrorKind.DEPENDENCY_MISSING,
            hint="Install lakesieve from a wheel. In a clone of the repository, run make setup.",
        )
    return path


def own_class(spark: SparkSession, name: str) -> Any:
    """Return one of lakesieve's Java classes, such as ``files.PathSet``.

    The first call loads the jar, once for each JVM.
    """
    with _LOCK:
        if spark.sparkContext._gateway not in _LOADED:
            _load(spark, spark_version_of(spark.version))
            _LOADED.add(spark.sparkContext._gateway)
    return java_class(spark, f"lakesieve.{name}")


def _load(spark: SparkSession, version: SparkVersion) -> None:
    """Add our jar to the JVM, unless ``spark.jars`` contains it already."""
    if not has_class(spark, _EXTENSION):
        add_jar(spark, jar_of(version))
        return
    of_jar = java_class(spark, _EXTENSION).version()
    # slow, because PySpark puts the session's jars on Python's path, and each is searched
    own = metadata.version("lakesieve")
    if of_jar != own:
        raise _other_jar(f"lakesieve {of_jar}, but lakesieve {own} is installed")
    versions = str(java_class(spark, _EXTENSION).testedOn())
    if version.jar not in versions.split(", "):
        raise _other_jar(f"Spark {versions}, but the session runs Spark {spark.version}")


def _other_jar(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"The session's lakesieve jar was built for {what}.",
        kind=ErrorKind.UNSUPPORTED_SESSION,
        hint="Write a new jar with lakesieve spark-jar, and replace the old jar.",
    )


def add_jar(spark: SparkSession, jar: Path) -> None:
    """Add a jar to the driver's class loader, next to the jars of the table formats."""
    loader = context_loader(spark)
    while loader is not None and str(loader.getClass().getName()) not in _LOADERS:
        loader = loader.getParent()
    if loader is None:
        raise UnsupportedError(
            "No jar can be added to this session while it runs.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint="Start the session with the jar from lakesieve spark-jar in spark.jars.",
        )
    loader.addURL(java_class(spark, "java.io.File")(str(jar)).toURI().toURL())
