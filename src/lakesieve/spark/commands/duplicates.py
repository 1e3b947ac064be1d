"""Find keys that are in more than one row, only where an index says that they can be."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.index import broken_index
from lakesieve.index.definition import indexed_columns, key_columns
from lakesieve.index.key_ranges import KeyRanges
from lakesieve.index.many_keys import keep_candidates, keep_some_files, some_files
from lakesieve.index.row_ranges import Candidates
from lakesieve.sieve import distinct, encode_rows
from lakesieve.spark.build.source import key_types
from lakesieve.spark.commands.held_keys import usable_indexes
from lakesieve.spark.commands.key_lookup import LookUpTask, candidates_of_keys
from lakesieve.spark.commands.key_rows import read_by_plan, without_nulls
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables import open_table
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.workers import frame_of_rows, gathered, in_workers
from lakesieve.spark.versions.cached_rows import CachedRows, cache_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from lakesieve.index import OpenedIndex, Reason
    from lakesieve.sieve import KeyType
    from lakesieve.spark.tables import SparkTable
    from lakesieve.tables import Column, TableVersion

ROWS = "rows"
# most ranges of keys that are sent to tasks; with more, all rows are grouped
MOST_RANGES = 1_000_000
_FILTERED_ROWS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Duplicates:
    """The keys of a table version that are in more than one row.

    Args:
        keys: The distinct keys, and ``rows``, the number of rows with each key. Spark caches it.
        count: Number of these keys.
        files_read: Data files that were opened to find them.
        files: Data files of the version.
        version: The version, or ``None`` for a table without data.
        table: The table's name.
        on: The key columns.
        index: The index that was used; ``None`` if all rows were grouped.
        reasons: Why an existing index could not help.

    Examples:
        >>> ls.duplicates("lake.shop.orders", "tenant", spark=spark).count
        3
    """

    keys: DataFrame
    count: int
    files_read: int
    files: int
    version: str | None
    table: str
    on: tuple[str, ...]
    index: str | None
    reasons: tuple[Reason, ...]


def duplicates(
    table: str,
    on: str | Sequence[str],
    *,
    spark: SparkSession,
    version: str | int | None = None,
    location: str | None = None,
) -> Duplicates:
    """Find the keys that are in more than one row.

    An index on these columns, in any order, knows which keys are in several data files, and which
    files have a key twice. Then only these files are read, and only rows with these keys are
    grouped. Without an index, all rows are grouped. As in a UNIQUE constraint, keys with a null are
    left out.

    Args:
        table: As for :func:`lakesieve.create_index`.
        on: The key column or columns.
        spark: The session.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        location: A further root to search for indexes.

    Raises:
        NotFoundError: The table, a column or the version does not exist.
        InvalidInputError: There are too few or too many columns, or one is named twice.
        UnsupportedError: A column cannot be a key, or Spark cannot read the table.

    Examples:
        >>> ls.duplicates("lake.shop.orders", "id", spark=spark).count
        0
    """
    opened = open_table(spark, table)
    table_version = opened.reader.version(version)
    columns = key_columns(opened.reader, table_version, on)
    search = _DuplicateSearch(opened, table_version, columns, spark)
    with installed_rule(spark).skipping(location, storage_options(spark)):
        repeated = search.run(location)
    names = [".".join(column.path) for column in columns]
    return Duplicates(
        keys=repeated.rows.toDF(*names, ROWS),
        count=repeated.count,
        files_read=search.files_read,
        files=search.files,
        version=table_version.id,
        table=table,
        on=tuple(names),
        index=search.index,
        reasons=tuple(search.reasons),
    )


class _DuplicateSearch:
    """One search for the keys of a table version that are in several rows."""

    def __init__(
        self,
        table: SparkTable,
        version: TableVersion,
        columns: Sequence[Column],
        spark: SparkSession,
    ) -> None:
        self._table, self._version, self._columns = table, version, columns
        self._spark = spark
        self._names = [f"key_{at}" for at in range(len(columns))]
        self.reasons: list[Reason] = []
        self.index: str | None = None
        self.files = self.files_read = 0

    def run(self, location: str | None) -> CachedRows:
        """Return the keys with their number of rows."""
        if self._version.id is None:
            return self._of_all_rows()
        live = self._table.reader.live_files(self._version)
        self.files = self.files_read = live.num_rows
        field_ids = {column.field_id for column in self._columns}
        indexes, self.reasons = usable_indexes(self._spark, self._table, location)
        for index in indexes:
            if {key.field_id for key in index.definition.columns} != field_ids:
                continue
            columns = indexed_columns(
                index.definition, self._table.reader, self._version, strict=False
            )
            if columns is None:
                continue
            try:
                repeated = self._by_index(index, columns, live)
            except Exception as error:  # noqa: BLE001 - then all rows are grouped
                self.reasons.append(broken_index(index.definition.name, error))
                continue
            if repeated is not None:
                self.index = index.definition.name
                return repeated
        return self._of_all_rows()

    def _of_all_rows(self) -> CachedRows:
        with read_by_plan(self._table, self._version, None, self._columns) as rows:
            return cache_rows(self._repeated(rows), shuffled=True)

    def _repeated(self, rows: DataFrame) -> DataFrame:
        """Return the keys that are in several of the given rows."""
        from pyspark.sql import functions as F

        counts = without_nulls(rows).groupBy(*self._names).agg(F.count("*").alias(ROWS))
        return counts.where(F.col(ROWS) > 1)

    def _by_index(
        self, index: OpenedIndex, columns: Sequence[Column], live: pa.Table
    ) -> CachedRows | None:
        """Search with an index, or return ``None`` if this is not worth it."""
        numbers = index.numbers(live.column("path"))
        covered = numbers[numbers >= 0]
        present = np.zeros(len(index.paths()), bool)
        present[covered] = True
        # a segment knows only its own catalogue's files; files of small catalogues are treated as
        # new
        main, first, last = _largest(index)
        inside = np.zeros_like(present)
        inside[first:last] = True
        new = np.flatnonzero(present & ~inside)
        shared = _shared_keys(self._spark, index, main, present & inside)
        if shared is None:
            return None
        ranges, several = shared
        whole_new = some_files(index, new)
        within = np.flatnonzero(present & inside & index.flagged("repeats"))
        uncovered = live.num_rows - len(covered)
        read = {*np.flatnonzero(several.keep).tolist(), *within.tolist(), *new.tolist()}
        parts: list[CachedRows] = []
        if ranges is not None:
            rows = Candidates.joined([several, whole_new], every=False)
            parts.append(self._of_rows(index, rows, inside=(ranges, columns)))
        if len(new) or uncovered:
            keys = self._keys_of_files(index, new)
            with_keys = self._rows_of_keys(index, columns, keys.rows)
            read |= set(np.flatnonzero(with_keys.keep).tolist())
            rows = Candidates.joined([with_keys, whole_new], every=False)
            parts.append(self._of_rows(index, rows, among=keys.rows))
            keys.release()
        if len(within):
            parts.append(self._of_rows(index, some_files(index, within)))
        self.files_read = len(read & set(covered.tolist())) + uncovered
        return self._merged(parts)

    def _of_rows(
        self,
        index: OpenedIndex,
        candidates: Candidates,
        *,
        inside: tuple[KeyRanges, Sequence[Column]] | None = None,
        among: DataFrame | None = None,
    ) -> CachedRows:
        """Return keys in several of some rows and of the rows of files that are not indexed."""
        plan = keep_candidates(index, candidates)
        with read_by_plan(self._table, self._version, plan, self._columns) as rows:
            if inside is not None:
                rows = self._inside(rows, *inside)  # noqa: PLW2901 - the rows that are grouped
            if among is not None:
                rows = rows.join(among, self._names, "left_semi")  # noqa: PLW2901 - as above
            # cached inside the context, because the plan applies only to reads planned now
            return cache_rows(self._repeated(rows), shuffled=True)

    def _inside(self, rows: DataFrame, ranges: KeyRanges, columns: Sequence[Column]) -> DataFrame:
        """Return the rows whose keys are in some ranges."""
        from pyspark.sql import functions as F

        order = [f"key_{self._columns.index(column)}" for column in columns]
        by_bits = ranges.buckets() if [c.kind for c in columns] == ["integer"] else None
        if by_bits is not None:
            # this needs no Python worker
            shift, buckets = by_bits
            bucket_rows = F.broadcast(frame_of_rows(self._spark, buckets))
            key = F.col(order[0]).cast("bigint")
            same = F.shiftright(key, shift) == F.col("bucket")
            return rows.join(
                bucket_rows, same & key.between(F.col("first"), F.col("last")), "left_semi"
            )
        stage = partial(_in_ranges, ranges=ranges, types=key_types(columns))
        types = dict(rows.dtypes)
        passed = {name: "binary" if kind == "string" else kind for name, kind in types.items()}
        keys = rows.select(*(F.col(name).cast(passed[name]).alias(name) for name in order))
        schema = ", ".join(f"{name} {passed[name]}" for name in order)
        some = in_workers(keys, stage, schema)
        return some.select(*(F.col(name).cast(types[name]).alias(name) for name in self._names))

    def _keys_of_files(self, index: OpenedIndex, numbers: np.ndarray) -> CachedRows:
        """Return the keys of some files, and of the files that are not indexed."""
        plan = keep_some_files(index, numbers)
        with read_by_plan(self._table, self._version, plan, self._columns) as rows:
            return cache_rows(without_nulls(rows).distinct(), shuffled=True)

    def _rows_of_keys(
        self, index: OpenedIndex, columns: Sequence[Column], keys: DataFrame
    ) -> Candidates:
        names = [".".join(column.path) for column in columns]
        in_order = keys.select(*(f"key_{self._columns.index(column)}" for column in columns))
        return candidates_of_keys(in_order.toDF(*names), index, columns, self._table)

    def _merged(self, parts: Sequence[CachedRows]) -> CachedRows:
        """Return the keys of all parts. If several parts have a key, the earliest counts."""
        from pyspark.sql import functions as F

        if not parts:
            with read_by_plan(self._table, self._version, None, self._columns) as rows:
                return cache_rows(self._repeated(rows.limit(0)), shuffled=True)
        place = "place"
        placed = [part.rows.withColumn(place, F.lit(at)) for at, part in enumerate(parts)]
        everything = reduce(lambda one, other: one.unionByName(other), placed)
        first = F.min_by(F.col(ROWS), F.col(place)).alias(ROWS)
        merged = cache_rows(everything.groupBy(*self._names).agg(first), shuffled=True)
        for part in parts:
            part.release()
        return merged


def _largest(index: OpenedIndex) -> tuple[str, int, int]:
    """Return the catalogue with the most files, and the range of its files in the numbering."""
    first = 0
    best = ("", 0, 0)
    for name, files in index.files():
        if files > best[2] - best[1]:
            best = (name, first, first + files)
        first += files
    return best


def _shared_keys(
    spark: SparkSession, index: OpenedIndex, catalogue: str, live: np.ndarray
) -> tuple[KeyRanges | None, Candidates] | None:
    """Return the keys that several units of a catalogue's live files hold, and their rows.

    The result is ``None`` if there are too many such keys.
    """
    segments = [
        (at,) for at, entry in enumerate(index.snapshot.segments) if entry.catalogue == catalogue
    ]
    numbers = spark.createDataFrame(segments, "segment int")
    tasks = numbers.repartition(max(1, len(segments)), "segment")
    stage = partial(_shared_in_segments, task=LookUpTask.of(index, live=live))
    results = in_workers(tasks, stage, "ranges binary, units array<int>").collect()
    if any(row["ranges"] is None for row in results):
        return None
    tables = [pa.ipc.open_stream(bytes(row["ranges"])).read_all() for row in results]
    if sum(table.num_rows for table in tables) > MOST_RANGES:
        return None
    units = np.concatenate([np.zeros(0, np.int32), *(row["units"] for row in results)])
    candidates = index.candidates({catalogue: (units, units.astype(np.int32))})
    parts = [
        KeyRanges(lows=_whole(table.column("low")), highs=_whole(table.column("high")))
        for table in tables
    ]
    joined = KeyRanges.joined(parts)
    if joined is None and any(len(part.lows) for part in parts):
        # keys have both physical types, because the column was promoted
        return None
    return joined, candidates


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays([pa.array([], column.type), *column.chunks])


def _shared_in_segments(
    batches: Iterable[pa.RecordBatch], *, task: LookUpTask
) -> Iterator[pa.RecordBatch]:
    """Turn numbers of segments into the ranges of keys in several units, and these units."""
    numbers = [at for batch in batches for at in batch.column(0).to_pylist()]
    if not numbers:
        return
    index, live = task.open()
    for number in numbers:
        ranges: list[KeyRanges] = []
        units = [np.zeros(0, np.int32)]
        total = 0
        for part, ordinals in index.shared_keys(number, live):
            total += len(part.lows)
            units.append(ordinals)
            if total > MOST_RANGES:
                break
            ranges.append(part)
        yield _listing(ranges if total <= MOST_RANGES else None, distinct(np.concatenate(units)))


def _listing(ranges: Sequence[KeyRanges] | None, units: np.ndarray) -> pa.RecordBatch:
    packed = None
    joined = KeyRanges.joined(ranges) if ranges else None
    if ranges is not None:
        empty = pa.array([], pa.int64())
        lows, highs = (empty, empty) if joined is None else (joined.lows, joined.highs)
        table = pa.table({"low": lows, "high": highs})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
        packed = sink.getvalue().to_pybytes()
    return pa.record_batch(
        {
            "ranges": pa.array([packed], pa.binary()),
            "units": pa.array([units.tolist()], pa.list_(pa.int32())),
        }
    )


def _in_ranges(
    batches: Iterable[pa.RecordBatch], *, ranges: KeyRanges, types: Sequence[KeyType]
) -> Iterator[pa.RecordBatch]:
    """Keep the rows whose keys are in some ranges."""
    for rows in gathered(batches, _FILTERED_ROWS):
        codes = encode_rows(types, [column.combine_chunks() for column in rows.columns])
        yield from rows.filter(pa.array(ranges.holds(codes))).combine_chunks().to_batches()
