"""One index with a Spark session behind it: what keeps it up with its table."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, overload

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.index import Index, RefreshResult, VerifiedRows
from lakesieve.index.expressions import refuse_expressions
from lakesieve.spark.build.progress import Watch
from lakesieve.spark.build.refresh import refresh_each
from lakesieve.spark.build.source import Source
from lakesieve.spark.build.verify import files_with_missing_keys
from lakesieve.spark.commands.contains import KeyPresenceRows, contained_rows
from lakesieve.spark.commands.key_rows import read_held_keys
from lakesieve.spark.commands.locate import KeyLocations, locate_keys
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.session.access import access_by
from lakesieve.spark.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.index import BuildProgress
    from lakesieve.index.key_results import KeyPresence
    from lakesieve.spark.tables import SparkTable
    from lakesieve.storage import Storage


class SparkIndex(Index):
    """One index of one table, with the session that can read the table.

    Args:
        spark: The session.
        table: The table it was opened for.
        storage: The index's root.

    Raises:
        NotFoundError: There is no index.

    Examples:
        >>> ls.open_index("lake.shop.orders", "customer", spark=spark)
        <SparkIndex customer of lake.shop.orders: 10 data files>
    """

    def __init__(self, spark: SparkSession, table: SparkTable, storage: Storage) -> None:
        super().__init__(
            table.reader,
            storage,
            access=access_by(spark),
            key_reader=partial(read_held_keys, spark, table),
        )
        self._spark = spark
        self._spark_table = table

    def refresh(
        self,
        *,
        all_refs: bool = False,
        dry_run: bool = False,
        progress: Callable[[BuildProgress], None] | None = None,
    ) -> RefreshResult:
        """Index the data files that are not covered yet, and those alone.

        Args:
            all_refs: Also those of all branches and tags, not of the current version alone.
            dry_run: Only tell what would be indexed.
            progress: Called with each :class:`BuildProgress`, from another thread.

        Raises:
            InvalidInputError: The index belongs to a table that was here before.
            UnsupportedError: The key columns are gone, or of a type that cannot be indexed.
            CommitConflictError: Others index the same files all the time.
            StorageError: The location cannot be written to.

        Examples:
            >>> ls.open_index("lake.shop.orders", "customer", spark=spark).refresh().files
            0
        """
        (outcome,) = refresh_each(
            self._spark,
            self._spark_table,
            {self.name: self._store},
            all_refs=all_refs,
            dry_run=dry_run,
            progress=progress,
        ).values()
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def verify_rows(
        self,
        *,
        files: int | None = 10,
        progress: Callable[[BuildProgress], None] | None = None,
    ) -> VerifiedRows:
        """Read data files again, and prove that the index names the unit of every row in them.

        A unit is a data file, or a row block.

        Args:
            files: How many of the covered files of the current version, spread evenly; ``None`` for
                all of them.
            progress: Called with each :class:`BuildProgress`, from another thread.

        Raises:
            InvalidInputError: The index belongs to a table that was here before.
            CorruptIndexError: The index cannot be read.

        Examples:
            >>> index = ls.open_index("lake.shop.orders", "customer", spark=spark)
            >>> index.verify_rows(files=2).wrong
            ()
        """
        self._upkeep.check_table()
        version = self._table.version()
        state = self._store.snapshot()
        live = self._table.live_files(version)
        known = live.filter(pc.is_in(live.column("path"), value_set=self._upkeep.covered(state)))
        if files is not None and known.num_rows > files:
            positions = [i * known.num_rows // files for i in range(files)]
            known = known.take(pa.array(positions, pa.int64()))
        columns = self._columns(version)
        source = Source(
            table=self._spark_table,
            version=version,
            columns=columns,
            files=known,
            is_partial=known.num_rows < live.num_rows,
        )
        rule = installed_rule(self._spark)
        what = f"lakesieve: verify {self._table.name}, index {self.name}"
        with Watch(self._spark, progress, what) as watch:
            source = source.counted(rule)
            wrong = files_with_missing_keys(self._spark, source, self._store, state, watch)
        return VerifiedRows(
            index=self.name,
            table=self._table.name,
            files=known.num_rows,
            rows=source.rows,
            wrong=tuple(wrong),
        )

    def locate(self, keys: DataFrame, version: str | int | None = None) -> KeyLocations:
        """Name the data files that can hold each of many keys, looked up by the executors.

        Row-level deletes are ignored, and a key that is not there may be given a file, as in every
        answer of an index. Nulls are keys like others: those of data files that hold one.

        Args:
            keys: Columns named like the index's key columns, or like the first few of them; all
                else must be left out. Any number of rows, also some of them several times.
            version: Snapshot id, time, tag or branch; ``None`` is the current version.

        Raises:
            InvalidInputError: A column is of another type or no key, or the index belongs to a
                table that was here before.
            NotFoundError: The frame lacks a key column, or there is no such version.
            CorruptIndexError: The index cannot be read.

        Examples:
            >>> index = ls.open_index("lake.shop.orders", "customer", spark=spark)
            >>> index.locate(spark.sql("SELECT 4711L AS customer")).pairs.count()
            1
        """
        refuse_expressions(self._snapshot.definition, "locate")
        self._upkeep.check_table()
        table_version = self._table.version(version)
        columns = self._columns(table_version)
        index = self._opened()
        return locate_keys(
            keys, index, table=self._spark_table, version=table_version, columns=columns
        )

    @overload
    def contains(
        self, keys: DataFrame, version: str | int | None = None, *, confirm: bool = False
    ) -> KeyPresenceRows: ...

    @overload
    def contains(
        self, keys: Any, version: str | int | None = None, *, confirm: bool = False
    ) -> KeyPresence: ...

    def contains(
        self, keys: Any, version: str | int | None = None, *, confirm: bool = False
    ) -> KeyPresence | KeyPresenceRows:
        """Tell which of many keys no row of a version has.

        ``absent`` is exact. All other keys are possible, with the data files that can hold them:
        row-level deletes are ignored. Nulls are keys like others.

        Args:
            keys: A ``DataFrame``, looked up by the executors, whose columns are named like the
                index's, or like the first few of them; or keys in memory as for
                :meth:`Index.contains`, looked up in this process.
            version: Snapshot id, time, tag or branch; ``None`` is the current version.
            confirm: Read the key columns of the files that can hold the keys, row-level deletes
                applied, so that the other answer is exact as well.

        Raises:
            InvalidInputError: Values of another type or no key, or the index belongs to a table
                that was here before.
            NotFoundError: A key column is missing, or there is no such version.
            CorruptIndexError: The index cannot be read.

        Examples:
            >>> index = ls.open_index("lake.shop.orders", "customer", spark=spark)
            >>> keys = spark.sql("SELECT 99999L AS customer")
            >>> index.contains(keys).keys.where("absent").count()
            1
        """
        if not hasattr(keys, "sparkSession"):
            return super().contains(keys, version, confirm=confirm)
        refuse_expressions(self._snapshot.definition, "contains")
        self._upkeep.check_table()
        table_version = self._table.version(version)
        return contained_rows(
            keys,
            self._opened(),
            table=self._spark_table,
            version=table_version,
            columns=self._columns(table_version),
            confirm=confirm,
        )


def open_index(
    table: str, name: str, *, spark: SparkSession, location: str | None = None
) -> SparkIndex:
    """Open an index by its name, which defaults to its columns joined by ``_``.

    Args:
        table: As for :func:`create_index`.
        name: Name of the index.
        spark: The session.
        location: A further root to search, before the table's own.

    Raises:
        NotFoundError: No such table or index.
    """
    opened = open_table(spark, table)
    return SparkIndex(spark, opened, access_by(spark).index_storage(opened.reader, name, location))
