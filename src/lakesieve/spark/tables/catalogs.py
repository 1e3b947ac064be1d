"""Look up tables in the session's catalogs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lakesieve.errors import (
    ErrorKind,
    InvalidInputError,
    LakesieveError,
    NotFoundError,
    UnsupportedError,
)
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.versions.java_classes import java_array, java_class
from lakesieve.spark.versions.spark_versions import error_class
from lakesieve.tables.names import FORMS, TableName, quoted_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_SESSION = "spark_catalog"
"""The catalog that every session has; it has one level of namespaces."""


def catalog_table(spark: SparkSession, name: str) -> Any:
    """Load a table from its catalog, as a ``Table`` of Spark's connector API."""
    with named_errors(name):
        catalog, identifier = _resolved(spark, name)
        return catalog.loadTable(identifier)


def forget_table(spark: SparkSession, name: str) -> None:
    """Remove a table from the catalog's cache, so that its next use loads it again."""
    with named_errors(name):
        catalog, identifier = _resolved(spark, name)
        catalog.invalidateTable(identifier)


def is_catalog(spark: SparkSession, name: str) -> bool:
    """Return whether a session has a catalog of this name."""
    return name == _SESSION or spark.conf.get(f"spark.sql.catalog.{name}", None) is not None


def names_of_tables(spark: SparkSession, catalog: str | None) -> list[str]:
    """Return the names of all tables of a catalog; ``None`` is the session's current catalog."""
    if catalog is None:
        catalog = str(spark.catalog.currentCatalog())
    with named_errors(catalog):
        waiting: list[tuple[str, ...]] = [(catalog,)]
        names: list[str] = []
        seen: set[tuple[str, ...]] = set()
        while waiting:
            above = waiting.pop()
            for row in spark.sql(f"SHOW NAMESPACES IN {quoted(*above)}").collect():
                # relative to the catalog, with back quotes where a part needs them
                namespace = (catalog, *TableName(text=row[0]).identifier())
                if namespace in seen:
                    continue
                seen.add(namespace)
                if catalog != _SESSION:
                    waiting.append(namespace)
                tables = spark.sql(f"SHOW TABLES IN {quoted(*namespace)}").collect()
                names += [
                    quoted_name((*namespace, found["tableName"]))
                    for found in tables
                    if not found["isTemporary"]
                ]
    return sorted(names)


def _resolved(spark: SparkSession, name: str) -> tuple[Any, Any]:
    """Return the catalog of an identifier, and the identifier within this catalog."""
    state = spark._jsparkSession.sessionState()
    manager = state.catalogManager()
    parsed = state.sqlParser().parseMultipartIdentifier(name)
    names = [str(parsed.apply(at)) for at in range(parsed.size())]
    catalog = manager.currentCatalog()
    if len(names) > 1 and manager.isCatalogRegistered(names[0]):
        catalog = manager.catalog(names.pop(0))
    elif len(names) == 1:
        names = [*manager.currentNamespace(), *names]
    namespace = java_array(spark, "java.lang.String", tuple(names[:-1]))
    identifiers = java_class(spark, "org.apache.spark.sql.connector.catalog.Identifier")
    return catalog, identifiers.of(namespace, names[-1])


@contextmanager
def named_errors(name: str) -> Iterator[None]:
    """Translate the catalog's errors about a name into lakesieve's errors."""
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        yield
    except Py4JJavaError as error:
        java = error.java_exception
        while str(java.getClass().getSimpleName()) == _WRAPPED and java.getCause() is not None:
            java = java.getCause()
        kind = str(java.getClass().getSimpleName())
        raise _named_error(kind, str(java.getMessage() or kind), name) from error
    except PySparkException as error:
        raise _named_error(error_class(error), str(error), name) from error


# thrown by a call through reflection, whatever failed inside it
_WRAPPED = "InvocationTargetException"
_NO_TABLE = frozenset(
    {
        "NoSuchTableException",
        "NoSuchNamespaceException",
        "NoSuchIcebergTableException",
        "TABLE_OR_VIEW_NOT_FOUND",
        "SCHEMA_NOT_FOUND",
    }
)
_NO_NAME = frozenset(
    {"ParseException", "PARSE_SYNTAX_ERROR", "CATALOG_NOT_FOUND", "IllegalArgumentException"}
)


def _named_error(kind: str, message: str, name: str) -> LakesieveError:
    first = message.splitlines()[0]
    if kind in _NO_TABLE:
        return NotFoundError(
            f"There is no table {name}.",
            kind=ErrorKind.TABLE_NOT_FOUND,
            hint=f"Name a table as {FORMS}. SHOW TABLES IN a database lists its tables.",
        )
    if kind == "ClassCastException" or "is not an iceberg table" in first.lower():
        return UnsupportedError(
            f"{name} is not an Iceberg table.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Give the name of an Iceberg table.",
        )
    if kind in _NO_NAME:
        return InvalidInputError(
            f"{name!r} does not name a table: {first}",
            kind=ErrorKind.NOT_A_TABLE,
            hint=f"Name a table as {FORMS}.",
        )
    return NotFoundError(
        f"The table {name} cannot be loaded: {first}",
        kind=ErrorKind.TABLE_NOT_FOUND,
        hint="Check the name and the catalog's settings (--spark-conf).",
    )
