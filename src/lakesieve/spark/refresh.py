"""Refreshing several indexes of a table in one scan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.index import RefreshResult, ShownList
from lakesieve.index.access import no_index
from lakesieve.spark.build.indexing import failure
from lakesieve.spark.build.refresh import refresh_each
from lakesieve.spark.session.access import access_by
from lakesieve.spark.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.index import BuildProgress

__all__ = ["refresh_indexes"]


def refresh_indexes(
    table: str,
    names: Sequence[str] | None = None,
    *,
    spark: SparkSession,
    location: str | None = None,
    all_refs: bool = False,
    dry_run: bool = False,
    progress: Callable[[BuildProgress], None] | None = None,
) -> list[RefreshResult]:
    """Refresh several indexes of a table, as :meth:`SparkIndex.refresh` does one.

    Data files that several of them do not cover are read once. If one index fails, the others are
    refreshed all the same, and the error names it.

    Args:
        table: The table.
        names: Names of the indexes; ``None`` for all of the table.
        spark: The session.
        location: A further root to search for them.
        all_refs: Also the data files of all branches and tags.
        dry_run: Only tell what would be indexed.
        progress: Called with each :class:`BuildProgress`, from another thread.

    Raises:
        NotFoundError: No such table or index.
        InvalidInputError: An index belongs to a table that was here before.
        UnsupportedError: Key columns are gone, or of a type that cannot be indexed.
        CommitConflictError: Others index the same files all the time.
        StorageError: A location cannot be written to.

    Examples:
        >>> [done.files for done in ls.refresh_indexes("lake.shop.orders", spark=spark)]
        [0, 0]
    """
    opened = open_table(spark, table)
    stores = access_by(spark).stores(opened.reader, location)
    if names is not None:
        missing = [name for name in names if name not in stores]
        if missing:
            raise no_index(table, missing[0])
        stores = {name: stores[name] for name in names}
    outcomes = refresh_each(
        spark,
        opened,
        stores,
        all_refs=all_refs,
        dry_run=dry_run,
        progress=progress,
    )
    errors = {n: done if isinstance(done, Exception) else None for n, done in outcomes.items()}
    error = failure(errors)
    if error is not None:
        raise error
    return ShownList(done for done in outcomes.values() if isinstance(done, RefreshResult))
