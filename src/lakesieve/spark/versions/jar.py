"""The jar with the classes that lakesieve runs inside Spark: one for each version of Spark."""

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
# Spark's class loaders that take further jars
_LOADERS = frozenset(
    {
        "org.apache.spark.util.MutableURLClassLoader",
        "org.apache.spark.util.ChildFirstURLClassLoader",
    }
)
_LOCK = threading.Lock()
# by its py4j gateway, each JVM that has the jar
_LOADED: WeakSet[Any] = WeakSet()
# applications whose executors have it
_SENT: set[str] = set()


def jar_of(version: SparkVersion) -> Path:
    """The jar for a version of Spark, which the package carries."""
    name = f"lakesieve-spark-{version.jar}.jar"
    path = Path(str(resources.files("lakesieve.spark") / "jars" / name))
    if not path.is_file():
        raise SetupError(
            f"This installation of lakesieve has no {name}.",
            kind=ErrorKind.DEPENDENCY_MISSING,
            hint="Install a wheel of lakesieve; in a clone of its sources, run make setup.",
        )
    return path


def own_class(spark: SparkSession, name: str) -> Any:
    """Return a Java class of lakesieve, such as ``files.PathSet``.

    The jar is loaded by the first call, once in a JVM.
    """
    with _LOCK:
        if spark.sparkContext._gateway not in _LOADED:
            _load(spark, spark_version_of(spark.version))
            _LOADED.add(spark.sparkContext._gateway)
    return java_class(spark, f"lakesieve.{name}")


def send_to_executors(spark: SparkSession) -> None:
    """Have the executors of the application know the jar, too."""
    context: Any = spark.sparkContext
    # executors of a local session are in the driver's own JVM
    if context._jsc.sc().isLocal():
        return
    # the jar that the driver has the classes of: Spark sends no two files of one name
    jar = own_class(spark, "check.SparkCheck").jar()
    with _LOCK:
        if context.applicationId not in _SENT:
            context._jsc.addJar(jar)
            _SENT.add(context.applicationId)


def _load(spark: SparkSession, version: SparkVersion) -> None:
    """Have the JVM know the classes of our jar, unless ``spark.jars`` has brought them."""
    if not has_class(spark, _EXTENSION):
        add_jar(spark, jar_of(version))
        return
    of_jar = java_class(spark, _EXTENSION).version()
    # slow: PySpark puts the jars of the session among Python's paths, and each of them is searched
    own = metadata.version("lakesieve")
    if of_jar != own:
        raise _other_jar(f"of lakesieve {of_jar}, and this is lakesieve {own}")
    versions = str(java_class(spark, _EXTENSION).testedOn())
    if version.jar not in versions.split(", "):
        raise _other_jar(f"of lakesieve for Spark {versions}, and this is Spark {spark.version}")


def _other_jar(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"The session has the jar {what}.",
        kind=ErrorKind.UNSUPPORTED_SESSION,
        hint="Write the jar anew with lakesieve spark-jar, in the place of the old one.",
    )


def add_jar(spark: SparkSession, jar: Path) -> None:
    """Have the driver know the classes of a jar, beside those of the table formats."""
    loader = context_loader(spark)
    while loader is not None and str(loader.getClass().getName()) not in _LOADERS:
        loader = loader.getParent()
    if loader is None:
        raise UnsupportedError(
            "This session takes no jar while it runs.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint="Start the session with the jar that lakesieve spark-jar writes in spark.jars.",
        )
    loader.addURL(java_class(spark, "java.io.File")(str(jar)).toURI().toURL())
