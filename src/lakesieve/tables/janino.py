"""Java helpers shipped as source, compiled by Janino, the compiler that Spark itself bundles."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

    from pyspark.sql import SparkSession

__all__ = ["JavaSources"]


class JavaSources:
    """Java classes of one folder, compiled once a JVM.

    Args:
        folder: Where the sources are.
        names: The classes, one a file; each may use those before it.
    """

    def __init__(self, folder: Traversable, names: tuple[str, ...]) -> None:
        self._folder = folder
        self._names = names
        self._loaders: dict[str, Any] = {}
        self._lock = threading.Lock()

    def new(self, spark: SparkSession, name: str, *arguments: Any) -> Any:
        """Make an object of a class with one constructor, named with its Java package."""
        jvm: Any = spark._jvm
        given = jvm.java.util.ArrayList()
        for argument in arguments:
            given.add(argument)
        # py4j knows classes by name alone, and these stand in a loader of their own
        return self._loader(spark).loadClass(name).getConstructors()[0].newInstance(given.toArray())

    def _loader(self, spark: SparkSession) -> Any:
        application = spark.sparkContext.applicationId
        with self._lock:
            if application not in self._loaders:
                self._loaders[application] = self._compiled(spark)
            return self._loaders[application]

    def _compiled(self, spark: SparkSession) -> Any:
        jvm: Any = spark._jvm
        gateway: Any = spark.sparkContext._gateway
        types = gateway.new_array(jvm.java.lang.Class, 0)
        nothing = gateway.new_array(jvm.java.lang.Object, 0)
        loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
        compiler_class = loader.loadClass("org.codehaus.janino.SimpleCompiler")
        for name in self._names:
            compiler = compiler_class.getDeclaredConstructor(types).newInstance(nothing)
            compiler.setTargetVersion(8)  # static methods of interfaces
            compiler.setParentClassLoader(loader)
            compiler.cook((self._folder / f"{name}.java").read_text(encoding="utf-8"))
            loader = compiler.getClassLoader()
        return loader
