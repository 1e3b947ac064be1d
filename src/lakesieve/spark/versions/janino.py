"""Java helpers shipped as source, compiled by Janino, the compiler that Spark itself bundles."""

from __future__ import annotations

import json
import re
import threading
from dataclasses import dataclass, field
from importlib import resources
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from lakesieve.spark.versions.java_classes import context_loader, java_array, java_class, java_list
from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from pyspark.sql import SparkSession

    from lakesieve.spark.versions.spark_versions import SparkVersion

__all__ = ["JavaSources", "as_python"]

_LOCK = threading.RLock()
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")


@dataclass(frozen=True, slots=True)
class _Compiled:
    """The classes that were compiled in one JVM, by the source files that they come from.

    Args:
        loaders: The class loader of each list of sources.
        methods: Static methods, by their sources and their name.
    """

    loaders: dict[tuple[str, ...], Any] = field(default_factory=dict)
    methods: dict[tuple[str, ...], Any] = field(default_factory=dict)


# By py4j gateway, which is one JVM. SparkSession.stop() keeps the JVM, where py4j remembers methods
# by the name of their class: it could not call a second class of the same name.
_COMPILED: WeakKeyDictionary[Any, _Compiled] = WeakKeyDictionary()


def _compiled_in(spark: SparkSession) -> _Compiled:
    """Return what was compiled in the session's JVM, by any session."""
    return _COMPILED.setdefault(spark.sparkContext._gateway, _Compiled())


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
        files = (folder / layer / "java" / f"{name}.java" for layer, _, name in split_names)
        self._files = tuple(files)
        self._names = tuple(map(str, self._files))
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
                return constructor.newInstance(java_list(spark, arguments).toArray())
        raise TypeError(f"{name} has no constructor with {len(arguments)} arguments")

    def call(self, spark: SparkSession, method: str, *arguments: Any) -> Any:
        """Call a static method of the last class.

        Args:
            spark: The session.
            method: Name of the method.
            *arguments: Of the method.
        """
        with _LOCK:
            known = _compiled_in(spark).methods
            key = (*self._names, method)
            if key not in known:
                methods = self.type(spark, self._last).getMethods()
                known[key] = next(m for m in methods if m.getName() == method)
        return known[key].invoke(None, java_list(spark, arguments).toArray())

    def type(self, spark: SparkSession, name: str) -> Any:
        """A class, named with its Java package.

        Args:
            spark: The session.
            name: The class with its package.
        """
        with _LOCK:
            known = _compiled_in(spark).loaders
            loader = None
            for count, file in enumerate(self._files, 1):
                key = self._names[:count]
                if key not in known:
                    parent = loader or context_loader(spark)
                    known[key] = _compiled(spark, parent, file).getClassLoader()
                loader = known[key]
        # py4j knows classes by name alone, and these stand in a loader of their own
        return known[self._names].loadClass(name)

    def classes(self, spark: SparkSession) -> dict[str, bytes]:
        """All classes as they stand in class files, by their names.

        Args:
            spark: The session.
        """
        compiled: dict[str, bytes] = {}
        loader = context_loader(spark)
        for file in self._files:
            compiler = _compiled(spark, loader, file)
            loader = compiler.getClassLoader()
            compiled |= {str(name): bytes(code) for name, code in compiler.getBytecodes().items()}
        return compiled


def _compiled(spark: SparkSession, parent: Any, file: Traversable) -> Any:
    """A compiler that has compiled one source."""
    compiler_class = parent.loadClass("org.codehaus.janino.SimpleCompiler")
    constructor = compiler_class.getDeclaredConstructor(java_array(spark, "java.lang.Class", ()))
    compiler = constructor.newInstance(java_list(spark).toArray())
    compiler.setTargetVersion(8)  # static methods of interfaces
    compiler.setParentClassLoader(parent)
    compiler.cook(_source_of(file, spark_version_of(spark.version)))
    return compiler


def _source_of(file: Traversable, version: SparkVersion) -> str:
    """The text of a source for one version of Spark, with its placeholders filled in."""
    known = {"line": version.name, **version.java}

    def value(found: re.Match[str]) -> str:
        try:
            return known[found[1]]
        except KeyError:
            raise TypeError(f"{file}: no placeholder {found[0]}, only {sorted(known)}") from None

    return _PLACEHOLDER.sub(value, file.read_text(encoding="utf-8"))


def as_python(spark: SparkSession, java: Any) -> Any:
    """A Java map or list as Python's, in one text: to go through it would take calls an entry.

    Args:
        spark: The session.
        java: The Java object.
    """
    writer = java_class(spark, "com.fasterxml.jackson.databind.ObjectMapper")()
    return json.loads(writer.writeValueAsString(java))
