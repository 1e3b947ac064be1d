"""Java classes by their whole names."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def java_class(spark: SparkSession, name: str) -> Any:
    """Return a Java class. Its static members are attributes, and calling it makes an object.

    ``spark._jvm.org.apache`` asks Java of each part of a name whether it is a class, and to find
    that it is none takes a look into every jar, each time.
    """
    from py4j.java_gateway import JavaClass

    gateway: Any = spark.sparkContext._gateway
    return JavaClass(name, gateway._gateway_client)


def java_array(spark: SparkSession, name: str, items: tuple[Any, ...]) -> Any:
    """Make a Java array."""
    gateway: Any = spark.sparkContext._gateway
    array = gateway.new_array(java_class(spark, name), len(items))
    for number, item in enumerate(items):
        array[number] = item
    return array


def java_list(spark: SparkSession, items: tuple[Any, ...] = ()) -> Any:
    """Make a Java list that may grow."""
    made = java_class(spark, "java.util.ArrayList")()
    for item in items:
        made.add(item)
    return made


def scala_seq(spark: SparkSession, items: Any) -> Any:
    """Turn a Java list into one that Scala's methods take."""
    return java_class(spark, "org.apache.spark.api.python.PythonUtils").toSeq(items)


def context_loader(spark: SparkSession) -> Any:
    """Return the class loader that sees the jars of the session."""
    return java_class(spark, "java.lang.Thread").currentThread().getContextClassLoader()


def has_class(spark: SparkSession, name: str) -> bool:
    """Tell whether a Java class is on the class path of the session."""
    from py4j.protocol import Py4JJavaError

    try:
        context_loader(spark).loadClass(name)
    except Py4JJavaError:
        return False
    return True


def as_python(spark: SparkSession, java: Any) -> Any:
    """Turn a Java map or list into Python's, by one JSON text: each entry would take calls."""
    writer = java_class(spark, "com.fasterxml.jackson.databind.ObjectMapper")()
    return json.loads(writer.writeValueAsString(java))
