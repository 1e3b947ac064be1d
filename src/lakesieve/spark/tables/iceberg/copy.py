"""Zero-copy tables: new Iceberg metadata over the data files of another table's snapshot."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, InvalidInputError, UnsupportedError
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.versions.java_classes import java_class, java_list

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def copy_table(spark: SparkSession, java: Any, source: str, target: str, snapshot_id: int) -> None:
    """Make a table that begins as a snapshot of another one.

    Its metadata keeps schemas, partition specs and field ids, and lists only this snapshot. It has
    ``gc.enabled`` off: then no expiry, purge or orphan removal of the copy ever deletes a data file
    of the original.

    Args:
        spark: The session.
        java: The source, an ``org.apache.iceberg.BaseTable``.
        source: Identifier of the source.
        target: Identifier of the copy, in the same catalog.
        snapshot_id: The snapshot.

    Raises:
        InvalidInputError: The target exists, or is in another catalog.
        UnsupportedError: The catalog cannot register tables.
    """
    catalog, *path = target.split(".")
    if source.split(".", maxsplit=1)[0] != catalog or len(path) < 2:
        raise InvalidInputError(
            f"{target} is not a name in the catalog of {source}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=f"Name the copy {source.split('.', maxsplit=1)[0]}.database.table.",
        )
    if spark.catalog.tableExists(target):
        raise InvalidInputError(
            f"The table {target} already exists.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Choose another name.",
        )
    location = _location(str(java.location()), source.split(".")[1:], path)
    metadata = _metadata(spark, java, location, snapshot_id)
    file = f"{location}/metadata/00000-{uuid.uuid4()}.metadata.json"
    parser = java_class(spark, "org.apache.iceberg.TableMetadataParser")
    parser.write(metadata, java.io().newOutputFile(file))
    namespace, name = ".".join(path[:-1]), path[-1]
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quoted(catalog, *path[:-1])}")
    _register(spark, catalog, f"{namespace}.{name}", file, java)


def _register(spark: SparkSession, catalog: str, name: str, file: str, java: Any) -> None:
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    try:
        # not with CALL: Delta's parser, if it is installed, does not pass the arguments on
        spark_catalog = spark._jsparkSession.sessionState().catalogManager().catalog(catalog)
        named = java_class(spark, "org.apache.iceberg.catalog.TableIdentifier").parse(name)
        spark_catalog.icebergCatalog().registerTable(named, file)
    except (PySparkException, Py4JJavaError) as error:
        java.io().deleteFile(file)
        raise UnsupportedError(
            f"The catalog {catalog} did not register {name}: {str(error).splitlines()[0]}",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Copy the table by other means, then clone its indexes.",
        ) from error


def _metadata(spark: SparkSession, java: Any, location: str, snapshot_id: int) -> Any:
    """Return the metadata of the copy: one snapshot, to which ``main`` points, and nothing else."""
    base = java.operations().current()
    builder = java_class(spark, "org.apache.iceberg.TableMetadata").buildFrom(base)
    builder = builder.assignUUID(str(uuid.uuid4())).setLocation(location)
    for name in list(base.refs()):
        builder = builder.removeRef(name)
    others = java_list(spark)
    for snapshot in base.snapshots():
        if snapshot.snapshotId() != snapshot_id:
            others.add(snapshot)
    branch = java_class(spark, "org.apache.iceberg.SnapshotRef").branchBuilder(snapshot_id)
    properties = java_class(spark, "java.util.HashMap")()
    properties.put("gc.enabled", "false")
    # locations that are set for the original are wrong for the copy
    removed = java_class(spark, "java.util.HashSet")()
    for name in ("write.data.path", "write.metadata.path", "write.object-storage.path"):
        removed.add(name)
    return (
        builder.removeSnapshots(others)
        .setRef("main", branch.build())
        .setProperties(properties)
        .removeProperties(removed)
        .discardChanges()
        .build()
    )


def _location(original: str, source: list[str], target: list[str]) -> str:
    """Return the copy's folder: next to the original, with the copy's name where possible."""
    usual = "/".join(source)
    plain = original.rstrip("/")
    if plain.endswith(f"/{usual}"):
        return plain[: -len(usual)] + "/".join(target)
    return f"{plain}-{target[-1]}"
