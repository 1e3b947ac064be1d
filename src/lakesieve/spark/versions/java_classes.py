"""Get Java classes by their full names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def java_class(spark: SparkSession, name: str) -> Any:
    """Return a Java class. Its static members are attributes, and calling it makes an object.

    ``spark._jvm.org.apache`` is slow: it asks Java for each part of the name whether it is a class.
    For each part that is not a class, Java searches every jar.
    """
    from py4j.java_gateway import JavaClass

    gateway: Any = spark.sparkContext._gateway
    return JavaClass(name, gateway._gateway_client)


def java_array(spark: SparkSession, name: str, items: tuple[Any, ...]) -> Any:
    """Return a Java array of some items."""
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(java_class(spark, name), len(items))
    for number, item in enumerate(items):
        array[number] = item
    return array


def java_list(spark: SparkSession, items: tuple[Any, ...] = ()) -> Any:
    """Return a Java list that can grow."""
    java = java_class(spark, "java.util.ArrayList")()
    for item in items:
        java.add(item)
    return java


def scala_seq(spark: SparkSession, items: Any) -> Any:
    """Convert a Java list to a Scala ``Seq``."""
    return java_class(spark, "org.apache.spark.api.python.PythonUtils").toSeq(items)


def context_loader(spark: SparkSession) -> Any:
    """Return the class loader that sees the jars of the session."""
    return java_class(spark, "java.lang.Thread").currentThread().getContextClassLoader()


def has_class(spark: SparkSession, name: str) -> bool:
    """Return whether a Java class is on the class path of the session."""
    # an exception of Java takes PySpark a third of a second, the first time
    resource = f"{name.replace('.', '/')}.class"
    return context_loader(spark).getResource(resource) is not None


def as_python(spark: SparkSession, java: Any) -> Any:
    """Convert a Java map or list to Python through one JSON text. Each py4j call would be slow."""
    writer = java_class(spark, "com.fasterxml.jackson.databind.ObjectMapper")()
    return json.loads(writer.writeValueAsString(java))
