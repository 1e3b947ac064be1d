"""Many keys to the data files that can hold them, looked up by the executors."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.index import OpenedIndex
from lakesieve.sieve import encode_composite, encode_rows
from lakesieve.spark.commands.keys import given_keys
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.tables.workers import gathered, in_workers
from lakesieve.spark.versions.spark_versions import frame_of
from lakesieve.store import IN_ORDER_BYTES, BlockCache, IndexReader, IndexStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from lakesieve.sieve import KeyType
    from lakesieve.spark.commands.keys import GivenKey
    from lakesieve.spark.tables import IndexableTable
    from lakesieve.spark.tables.workers import Stage
    from lakesieve.storage import Storage
    from lakesieve.tables import Column, TableVersion

__all__ = ["FILE", "LocatePlan", "Located", "locate_keys", "located"]

FILE = "file"
# behind the path of a file that may be rewritten in place
_SIZE_AND_TIME = r"#\d+@-?\d+$"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Located:
    """Which data files can hold which keys.

    Args:
        pairs: The key columns and ``file``, one row a (key, data file) pair, each once. A key that
            no indexed file can hold is not in it. Looked up whenever it is evaluated, always in the
            same state of index and table.
        uncovered: Live data files that the index has not seen: any of them can hold any key.
        files: Live data files of the version.
        version: The table version, or ``None`` for a table without data.
        index: The index's name.
        commit: The index's commit that is read.
    """

    pairs: DataFrame
    uncovered: tuple[str, ...]
    files: int
    version: str | None
    index: str
    commit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatePlan:
    """What a task must know: where the index is, not what is in it.

    Args:
        storage: The index's root.
        commit: Number of the commit that is read.
        write_id: Its identity.
        key_types: Types of the given key columns.
        is_prefix: Whether the index has more columns than those.
        live: Bits of the covered files, in their numbering: whether a file is in the version.
        rewritable: Whether paths of covered files tell size and time after the path itself.
        batch_rows: How many keys are looked up at once, at least.
        found_rows: How many pairs are handed on at once, at most.
    """

    storage: Storage
    commit: int
    write_id: str
    key_types: tuple[KeyType, ...]
    is_prefix: bool
    live: bytes
    rewritable: bool
    batch_rows: int = 1 << 17
    found_rows: int = 1 << 15


def locate_keys(
    keys: DataFrame,
    index: OpenedIndex,
    *,
    table: IndexableTable,
    version: TableVersion,
    columns: Sequence[Column],
) -> Located:
    """Plan the look-up of a frame of keys.

    Args:
        keys: Columns named like the index's first one, two and so on.
        index: The index.
        table: Its table.
        version: Whose data files are named.
        columns: The index's columns as that version has them.

    Raises:
        NotFoundError: The first key column is missing in the frame.
        InvalidInputError: A column is of another type, no key column, or skips one.
    """
    given = given_keys(keys, _key_columns_of(keys, columns, table.name), table.name)
    live = table.live_files(version)
    covered = index.paths()
    # a file that several deltas cover is named by the first of them
    positions = pc.index_in(live.column("path"), value_set=covered)
    known = positions.drop_null().to_numpy()
    bits = np.zeros(len(covered), bool)
    bits[known] = True
    rewritable = "modified" in live.column_names
    shown = live.column("location" if "location" in live.column_names else "path")
    plan = LocatePlan(
        storage=index.storage,
        commit=index.snapshot.number,
        write_id=index.snapshot.write_id,
        key_types=tuple(key.key_type for key in given),
        is_prefix=len(given) < len(columns),
        live=np.packbits(bits).tobytes(),
        rewritable=rewritable,
    )
    pairs = _pairs(keys, given, plan)
    if "scanned" in live.column_names:
        pairs = _spelled(pairs, live)
    return Located(
        pairs=pairs,
        uncovered=tuple(shown.filter(pc.is_null(positions)).to_pylist()),
        files=live.num_rows,
        version=version.id,
        index=index.definition.name,
        commit=plan.commit,
    )


def _key_columns_of(keys: DataFrame, columns: Sequence[Column], table: str) -> Sequence[Column]:
    """Those of an index's leading columns that a frame has."""
    names = [".".join(column.path).lower() for column in columns]
    given = [name.lower() for name in keys.columns]
    unknown = [name for name in keys.columns if name.lower() not in names]
    if unknown:
        raise InvalidInputError(
            f"The given frame has columns that are no keys of the index: {', '.join(unknown)}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=f"Select the key columns first: {', '.join(names)}, or the first of them.",
        )
    count = max((at + 1 for at, name in enumerate(names) if name in given), default=1)
    if FILE in names[:count]:
        raise InvalidInputError(
            f"A key column of {table} is called {FILE}, like the column of the answer.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Rename the column of the table; the index stays as it is.",
        )
    return columns[:count]


def _pairs(keys: DataFrame, given: Sequence[GivenKey], plan: LocatePlan) -> DataFrame:
    from pyspark.sql import functions as F

    # strings go as bytes, so that no decoding can fail
    passed = ["binary" if key.key_type.kind == "string" else key.type for key in given]
    names = [f"key_{at}" for at in range(len(given))]
    typed_keys = keys.select(
        *(
            F.col(quoted(key.name)).cast(kind).alias(name)
            for key, kind, name in zip(given, passed, names, strict=True)
        )
    )
    # neighbours go to one task in order, which so reads every row group once
    in_order = typed_keys.repartitionByRange(*names).sortWithinPartitions(*names)
    schema = ", ".join(f"{name} {kind}" for name, kind in zip(names, passed, strict=True))
    found = in_workers(in_order, located(plan), f"{schema}, {FILE} string")
    return found.select(
        *(
            F.col(name).cast(key.type).alias(key.name)
            for name, key in zip(names, given, strict=True)
        ),
        FILE,
    )


def _spelled(pairs: DataFrame, live: pa.Table) -> DataFrame:
    """The pairs with data files as the table spells them, which is not as the index does."""
    from pyspark.sql import functions as F

    plain = live.column("path")
    if "modified" in live.column_names:
        plain = pc.replace_substring_regex(plain, _SIZE_AND_TIME, "")
    names = pa.table({"path": plain, "shown": live.column("location")})
    frame = frame_of(pairs.sparkSession, names)
    # a pair is never lost for want of another spelling
    joined = pairs.join(F.broadcast(frame), pairs[FILE] == frame["path"], "left")
    shown = F.coalesce(frame["shown"], pairs[FILE]).alias(FILE)
    return joined.select(*(pairs[name] for name in pairs.columns[:-1]), shown)


def located(plan: LocatePlan) -> Stage:
    """Make the stage: batches of sorted keys to keys and paths of data files."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tables = gathered(batches, plan.batch_rows)
        first = next(tables, None)
        if first is None:
            return
        index = _opened(plan)
        paths = _paths(index, plan)
        bits = np.frombuffer(plan.live, np.uint8)
        live = np.unpackbits(bits, count=len(paths)).astype(bool)
        last: pa.Scalar | None = None
        null_done = False
        for keys in itertools.chain([first], tables):
            codes, rows = _distinct(plan, keys, last)
            if codes.null_count and null_done:
                codes, rows = codes[:-1], rows[:-1]
            null_done |= bool(codes.null_count)
            values = len(codes) - codes.null_count
            last = codes[values - 1] if values else last
            which, numbers = _files(index, plan, codes)
            kept = np.flatnonzero(live[numbers])
            for start in range(0, len(kept), plan.found_rows):
                chunk = kept[start : start + plan.found_rows]
                batch = keys.take(pa.array(rows[which[chunk]]))
                batch = batch.append_column(FILE, paths.take(pa.array(numbers[chunk])))
                yield from batch.combine_chunks().to_batches()

    return run


def _opened(plan: LocatePlan) -> OpenedIndex:
    store = IndexStore(plan.storage)
    state = store.snapshot(plan.commit)
    if state.write_id != plan.write_id:
        raise InvalidInputError(
            "The index was dropped and created again since the keys were given.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Call locate again.",
        )
    return OpenedIndex(state, IndexReader(store, state, BlockCache(IN_ORDER_BYTES)))


def _paths(index: OpenedIndex, plan: LocatePlan) -> pa.Array:
    paths = index.paths()
    if plan.rewritable:
        paths = pc.replace_substring_regex(paths, _SIZE_AND_TIME, "")
    return pa.concat_arrays([pa.array([], pa.string()), *paths.chunks])


def _distinct(
    plan: LocatePlan, keys: pa.Table, last: pa.Scalar | None
) -> tuple[pa.Array, np.ndarray]:
    """Codes of the keys, ascending, each once, without the last one before; and a row of each.

    A null is the last of them.
    """
    columns = [column.combine_chunks() for column in keys.columns]
    encode = encode_composite if plan.is_prefix else encode_rows
    codes = encode(plan.key_types, columns)
    order = pc.sort_indices(codes)
    codes = codes.take(order)
    values = len(codes) - codes.null_count
    fresh = np.ones(len(codes), bool)
    fresh[values + 1 :] = False
    steps = pc.not_equal(codes[1:values], codes[: values - 1]) if values else pa.array([], "bool")
    fresh[1:values] = steps.to_numpy(zero_copy_only=False)
    fresh[:1] &= last is None or not codes[0].equals(last)
    fresh_rows = pa.array(np.flatnonzero(fresh))
    return codes.take(fresh_rows), order.take(fresh_rows).to_numpy().astype(np.int64)


def _files(index: OpenedIndex, plan: LocatePlan, codes: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Which code and one covered file that can hold it."""
    if plan.is_prefix:
        return index.prefixes(codes)
    which, numbers = index.points(codes.drop_null())
    if not codes.null_count:
        return which, numbers
    files = np.flatnonzero(index.flagged("has_null"))
    return (
        np.concatenate([which, np.full(len(files), len(codes) - 1)]),
        np.concatenate([numbers, files]),
    )
