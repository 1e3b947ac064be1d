"""A catalog of PyIceberg's configuration as settings of Spark, so that a user names it once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, UnsupportedError
from lakesieve.tables.iceberg.catalogs import catalog_properties

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPES = ("rest", "hive", "glue")
# PyIceberg's name and that of Iceberg for Java, where they differ
_NAMES = {"s3.region": "client.region"}
_PYTHON_ONLY = ("py-catalog-impl", "py-io-impl", "type")
_DATABASES = ("postgresql", "sqlite")


def spark_settings(catalog: str) -> Mapping[str, str]:
    """Return the settings that give a session a catalog of the same name.

    Raises:
        InvalidInputError: The configuration has no such catalog.
        UnsupportedError: It is of a kind that Iceberg for Java does not have.
        SetupError: PyIceberg is missing.
    """
    properties = catalog_properties(catalog)
    if properties is None:
        raise InvalidInputError(
            f"PyIceberg's configuration has no catalog {catalog}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Describe it in .pyiceberg.yaml, or by variables such as "
            f"PYICEBERG_CATALOG__{catalog.upper()}__URI.",
        )
    prefix = f"spark.sql.catalog.{catalog}"
    settings = {prefix: "org.apache.iceberg.spark.SparkCatalog"}
    kind = _kind(properties)
    if kind == "sql":
        settings[f"{prefix}.catalog-impl"] = "org.apache.iceberg.jdbc.JdbcCatalog"
    elif kind in _TYPES:
        settings[f"{prefix}.type"] = kind
    else:
        raise UnsupportedError(
            f"lakesieve cannot make Spark settings for the catalog {catalog} of type {kind}.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint=f"Give the settings yourself: --spark-conf spark.sql.catalog.{catalog}...=...",
        )
    for name, value in properties.items():
        if name == "uri" and kind == "sql":
            settings |= _jdbc(prefix, value)
        elif name not in _PYTHON_ONLY:
            settings[f"{prefix}.{_NAMES.get(name, name)}"] = value
    return settings


def _kind(properties: Mapping[str, str]) -> str:
    """Return the kind of a catalog as PyIceberg infers it."""
    if kind := properties.get("type"):
        return kind.lower()
    scheme = properties.get("uri", "").partition(":")[0].partition("+")[0].lower()
    if scheme in {"http", "https"}:
        return "rest"
    if scheme == "thrift":
        return "hive"
    return "sql" if scheme in _DATABASES else scheme or "unknown"


def _jdbc(prefix: str, uri: str) -> dict[str, str]:
    """Return the settings of JDBC for the address of a database in SQLAlchemy's form."""
    scheme, _, rest = uri.partition("://")
    dialect = scheme.partition("+")[0]
    if dialect == "sqlite":
        return {f"{prefix}.uri": f"jdbc:sqlite:{rest.removeprefix('/')}"}
    login, at, address = rest.rpartition("@")
    user, _, password = login.partition(":")
    given = {f"{prefix}.jdbc.user": user, f"{prefix}.jdbc.password": password} if at else {}
    return {f"{prefix}.uri": f"jdbc:{dialect}://{address}", **given}
