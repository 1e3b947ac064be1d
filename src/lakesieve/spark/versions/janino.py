"""Java helpers shipped as source, compiled by Janino, the compiler that Spark itself bundles."""

from __future__ import annotations

import json
import re
import threading
from importlib import resources
from typing import TYPE_CHECKING, Any

from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from pyspark.sql import SparkSession

    from lakesieve.spark.versions.spark_versions import SparkVersion

__all__ = ["JavaSources", "as_python", "has_class"]

_LOADERS: dict[tuple[str, ...], Any] = {}
_LOCK = threading.RLock()
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


class JavaSources:
    """Java classes, compiled once a JVM, in about a tenth of a second each.

    Args:
        names: ``folder/Class`` of each, one a file; each may use those before it. Lists that begin
            alike share those classes.
        root: Where the folders are, each with one ``java`` in it; by default this package.
    """

    def __init__(self, *names: str, root: Traversable | None = None) -> None:
        folder = root or resources.files("lakesieve")
        split_names = (name.rpartition("/") for name in names)
        self._files = [folder / layer / "java" / f"{name}.java" for layer, _, name in split_names]
        self._last = f"lakesieve.{names[-1].rpartition('/')[2]}"

    def new(self, spark: SparkSession, name: str, *arguments: Any) -> Any:
        """Make an object of a class, named with its Java package.

        Its public constructors differ in how many arguments they take.

        Args:
            spark: The session.
            name: The class with its package.
            *arguments: Of the constructor.
        """
        for constructor in self.type(spark, name).getConstructors():
            if constructor.getParameterCount() == len(arguments):
                return constructor.newInstance(_objects(spark, arguments))
        raise TypeError(f"{name} has no constructor with {len(arguments)} arguments")

    def call(self, spark: SparkSession, method: str, *arguments: Any) -> Any:
        """Call a static method of the last class.

        Args:
            spark: The session.
            method: Name of the method.
            *arguments: Of the method.
        """
        methods = self.type(spark, self._last).getMethods()
        found = next(m for m in methods if m.getName() == method)
        return found.invoke(None, _objects(spark, arguments))

    def type(self, spark: SparkSession, name: str) -> Any:
        """A class, named with its Java package.

        Args:
            spark: The session.
            name: The class with its package.
        """
        application = str(spark.sparkContext.applicationId)
        jvm: Any = spark._jvm
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        with _LOCK:
            # a process has one application at a time: those before it were stopped
            for other in [known for known in _LOADERS if known[0] != application]:
                del _LOADERS[other]
            key: tuple[str, ...] = (application,)
            for file in self._files:
                key = (*key, str(file))
                if key not in _LOADERS:
                    _LOADERS[key] = _compiled(spark, loader, file)
                loader = _LOADERS[key]
        # py4j knows classes by name alone, and these stand in a loader of their own
        return loader.loadClass(name)


def _compiled(spark: SparkSession, parent: Any, file: Traversable) -> Any:
    jvm: Any = spark._jvm
    gateway: Any = spark.sparkContext._gateway
    types = gateway.new_array(jvm.java.lang.Class, 0)
    compiler_class = parent.loadClass("org.codehaus.janino.SimpleCompiler")
    compiler = compiler_class.getDeclaredConstructor(types).newInstance(_objects(spark, ()))
    compiler.setTargetVersion(8)  # static methods of interfaces
    compiler.setParentClassLoader(parent)
    compiler.cook(_source_of(file, spark_version_of(spark.version)))
    return compiler.getClassLoader()


def _source_of(file: Traversable, version: SparkVersion) -> str:
    """The text of a source for one version of Spark, with its placeholders filled in."""

    def value(found: re.Match[str]) -> str:
        try:
            return version.java[found[1]]
        except KeyError:
            known = ", ".join(sorted(version.java))
            raise TypeError(f"{file}: no placeholder {found[0]}, only {known}") from None

    return _PLACEHOLDER.sub(value, file.read_text(encoding="utf-8"))


def _objects(spark: SparkSession, arguments: tuple[Any, ...]) -> Any:
    jvm: Any = spark._jvm
    listed = jvm.java.util.ArrayList()
    for argument in arguments:
        listed.add(argument)
    return listed.toArray()


def as_python(spark: SparkSession, java: Any) -> Any:
    """A Java map or list as Python's, in one text: to go through it would take calls an entry.

    Args:
        spark: The session.
        java: The Java object.
    """
    jvm: Any = spark._jvm
    return json.loads(jvm.com.fasterxml.jackson.databind.ObjectMapper().writeValueAsString(java))


def has_class(spark: SparkSession, name: str) -> bool:
    """Whether a Java class is on the class path of the session.

    Args:
        spark: The session.
        name: The class with its package.
    """
    from py4j.protocol import Py4JJavaError

    jvm: Any = spark._jvm
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    try:
        loader.loadClass(name)
    except Py4JJavaError:
        return False
    return True
