"""Where the indexes of a table are, as a Spark session reaches them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError
from lakesieve.index import index_storage, roots_of
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakesieve.spark.tables import IndexableTable
    from lakesieve.storage import Storage

__all__ = ["index_stores", "new_index_storage", "no_index", "table_roots"]


def table_roots(spark: SparkSession, table: IndexableTable, location: str | None) -> list[Storage]:
    """The roots that hold indexes of a table: further ones first, its own folder last.

    Args:
        spark: The session.
        table: The table.
        location: A further root, if any.
    """
    locations = () if location is None else (location,)
    options = storage_options(spark, lambda: table.file_io)
    return roots_of(table.location, table.uuid, locations, options)


def index_stores(
    spark: SparkSession, table: IndexableTable, location: str | None
) -> dict[str, IndexStore]:
    """All indexes of a table that can be opened, by name; the first of a name counts.

    Args:
        spark: The session.
        table: The table.
        location: A further root, if any.
    """
    found: dict[str, IndexStore] = {}
    for root in table_roots(spark, table, location):
        for name in sorted(root.folders("")):
            store = IndexStore(root.child(name))
            if name not in found and store.exists():
                found[name] = store
    return found


def new_index_storage(
    spark: SparkSession, table: IndexableTable, name: str, location: str | None
) -> Storage:
    """The root of an index that is to be made.

    Args:
        spark: The session.
        table: The table.
        name: Name of the index.
        location: The root to put it below; the table's own folder by default.

    Raises:
        InvalidInputError: There is one already, or the name cannot be used.
    """
    storage = index_storage(table_roots(spark, table, location)[-1], name)
    if IndexStore(storage).exists():
        raise InvalidInputError(
            f"{table.name} already has an index {name}.",
            kind=ErrorKind.INDEX_EXISTS,
            hint="Choose another name, or drop it first: lakesieve drop TABLE INDEX.",
        )
    return storage


def no_index(table: str, name: str) -> NotFoundError:
    """The error where a table lacks an index that was named.

    Args:
        table: Name of the table.
        name: Name of the index.
    """
    return NotFoundError(
        f"{table} has no index {name}.",
        kind=ErrorKind.INDEX_NOT_FOUND,
        hint="lakesieve list TABLE names those it has.",
    )
