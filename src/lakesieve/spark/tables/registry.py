"""List the supported table formats, and open tables by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, SetupError, UnsupportedError
from lakesieve.spark.tables.catalogs import catalog_table
from lakesieve.spark.tables.delta.spec import DELTA
from lakesieve.spark.tables.hudi.spec import HUDI
from lakesieve.spark.tables.iceberg.spec import ICEBERG
from lakesieve.spark.tables.parquet.spec import PARQUET
from lakesieve.spark.versions.java_classes import has_class
from lakesieve.spark.versions.spark_versions import (
    SPARK_VERSIONS,
    check_session,
    spark_version_of,
)
from lakesieve.tables.names import parse_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import SparkSession

    from lakesieve.spark.tables.contract import SparkTable
    from lakesieve.spark.tables.formats import FormatSpec
    from lakesieve.spark.versions.spark_versions import SparkVersion

# Iceberg's extensions after Delta's: on Spark 3.5, the reverse order breaks UPDATE of other tables
FORMATS = {spec.name: spec for spec in (DELTA, HUDI, ICEBERG, PARQUET)}
"""All formats by name, in the order in which sessions list their extensions."""


def open_table(spark: SparkSession, name: str) -> SparkTable:
    """Open a table by its catalog identifier, or by its format and path.

    Args:
        spark: The session whose catalogs are searched.
        name: ``catalog.database.table``; ``iceberg:PATH``, ``delta:PATH``, ``hudi:PATH`` or
            ``parquet:PATH``; or the bare path of an Iceberg table.
    """
    check_session(spark)
    parsed = parse_name(name)
    text = parsed.text
    if parsed.format is not None:
        return _open_path(spark, FORMATS[parsed.format], parsed.path)
    entry = catalog_table(spark, text)
    table_format = format_of(entry)
    if table_format not in FORMATS:
        raise UnsupportedError(
            f"{text} is a table of format {table_format}, which is not supported.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Give an Iceberg, Delta or Hudi table, or a directory of Parquet files.",
        )
    return FORMATS[table_format].named(spark, text, entry)


def _open_path(spark: SparkSession, spec: FormatSpec, path: str) -> SparkTable:
    if not has_class(spark, spec.runtime):
        check_formats(spark_version_of(spark.version), [spec.name])
        raise SetupError(
            f"The runtime of {spec.name} tables is not on the class path of this session.",
            kind=ErrorKind.DEPENDENCY_MISSING,
            hint=f'Start the session with ls.local_session(formats=["{spec.name}"]), a command '
            f"with --format {spec.name}, or your own session with the spark.jars.packages that "
            "the documentation of the format names.",
        )
    return spec.at(spark, path)


def format_of(entry: Any) -> str:
    """Return the format of a table that a catalog loaded, or the provider of a V1 table."""
    java_class = str(entry.getClass().getName())
    for spec in FORMATS.values():
        if spec.catalog_class == java_class:
            return spec.name
    return str(entry.properties().get("provider") or "unknown").lower()


def formats_of(version: SparkVersion) -> list[FormatSpec]:
    """Return the formats that have a runtime for a version of Spark."""
    return [spec for spec in FORMATS.values() if spec.runs_on(version.name)]


def check_formats(version: SparkVersion, formats: Iterable[str]) -> None:
    """Check that a version of Spark can read tables of some formats."""
    specs = [FORMATS[name] for name in sorted(set(formats))]
    missing = [spec.name for spec in specs if not spec.runs_on(version.name)]
    if missing:
        others = [
            other.name
            for other in SPARK_VERSIONS
            if all(spec.runs_on(other.name) for spec in specs)
        ]
        raise UnsupportedError(
            f"There is no runtime of {', '.join(missing)} tables for Spark {version.name}.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint=f"Use Spark {' or '.join(others)}: pip install 'pyspark=={others[0]}.*'."
            if others
            else "",
        )
