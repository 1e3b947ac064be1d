"""Look up many keys in an index on the executors: find the data files that may hold each key."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.index import OpenedIndex
from lakesieve.index.given_keys import key_columns_of
from lakesieve.index.many_keys import KeyMatches, sorted_codes
from lakesieve.spark.commands.keys import given_keys
from lakesieve.spark.session.key_units import rows_of_keys
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.tables.workers import gathered, in_workers
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark import Broadcast
    from pyspark.sql import DataFrame

    from lakesieve.index.row_ranges import Candidates
    from lakesieve.sieve import KeyType
    from lakesieve.spark.commands.keys import GivenKey
    from lakesieve.spark.tables import SparkTable
    from lakesieve.storage import Storage
    from lakesieve.tables import Column, TableVersion

FEW = 1_000_000
"""Most keys that this process looks up and broadcasts. The executors look up more keys."""

LOCAL = 100_000
"""Most keys that this process handles itself. The executors handle more keys."""

FILES = "files"
# the end of the path of a file that may be rewritten in place
_SIZE_AND_TIME = r"#\d+@-?\d+$"


@dataclass(frozen=True, slots=True, kw_only=True)
class LookUpTask:
    """What a task must know to look up keys: the place of the index, not its content.

    Args:
        storage: The index's root.
        commit: Number of the commit that is read.
        write_id: Identity of the commit.
        key_types: Types of the given key columns.
        is_prefix: True if the index has more columns than the keys.
        live: Bits of the covered files, by number: whether the version has the file.
        rewritable: True if the paths of covered files end with size and time.
        batch_rows: Fewest keys that are looked up at once.
        batch_pairs: Most (key, file) pairs in one batch of the result, unless a single key has
            more.
    """

    storage: Storage
    commit: int
    write_id: str
    key_types: tuple[KeyType, ...]
    is_prefix: bool
    live: bytes
    rewritable: bool = False
    batch_rows: int = 1 << 17
    batch_pairs: int = 1 << 15

    @classmethod
    def of(
        cls,
        index: OpenedIndex,
        given: Sequence[GivenKey] = (),
        *,
        is_prefix: bool = False,
        live: np.ndarray | None = None,
        rewritable: bool = False,
    ) -> LookUpTask:
        """Describe a look-up in the current state of an index.

        By default, all covered files are live.
        """
        bits = np.ones(len(index.paths()), bool) if live is None else live
        return cls(
            storage=index.storage,
            commit=index.snapshot.number,
            write_id=index.snapshot.write_id,
            key_types=tuple(key.key_type for key in given),
            is_prefix=is_prefix,
            live=np.packbits(bits).tobytes(),
            rewritable=rewritable,
        )

    def open(self) -> tuple[OpenedIndex, np.ndarray]:
        """Open the index in a task, and return which of the covered files are live."""
        store = IndexStore(self.storage)
        state = store.snapshot(self.commit)
        if state.write_id != self.write_id:
            raise InvalidInputError(
                "The index was dropped and created again after the look-up was planned.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Call locate again.",
            )
        index = OpenedIndex.at(store, state, in_order=True)
        bits = np.frombuffer(self.live, np.uint8)
        return index, np.unpackbits(bits, count=len(index.paths())).astype(bool)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyFiles:
    """The distinct keys of a frame, with the data files of a table version that may hold them.

    Args:
        rows: ``key_0`` and so on, and the paths of the covered ``files`` that may hold the key.
        columns: The key columns that the frame has.
        names: Their names in the frame.
        uncovered: Live data files that are not indexed. Each may hold any key.
        files: Number of live data files of the version.
        commit: The index's commit that is read.
    """

    rows: DataFrame
    columns: list[Column]
    names: list[str]
    uncovered: tuple[str, ...]
    files: int
    commit: int


def look_up(
    keys: DataFrame,
    index: OpenedIndex,
    table: SparkTable,
    version: TableVersion,
    columns: Sequence[Column],
    *,
    taken: Sequence[str],
    at_once: bool = False,
) -> KeyFiles:
    """Plan the look-up of a frame of keys in one version of a table.

    Args:
        keys: Columns named like the index's columns, or like its leading columns.
        index: The index.
        table: The table of the index.
        version: The version.
        columns: The index's columns in this version.
        taken: Names of the result's columns, which no key column may have.
        at_once: True to use only as many tasks as can run at the same time: Spark caches all
            partitions of a frame, even empty ones.
    """
    name = table.reader.name
    leading = key_columns_of(keys.columns, columns, name)
    _check_names(leading, name, taken)
    key_columns = given_keys(keys, leading, name)
    live = table.reader.live_files(version)
    table_paths = live.column("location" if "location" in live.column_names else "path")
    covered = index.paths()
    # a file that several deltas cover has the number of the first one
    positions = pc.index_in(live.column("path"), value_set=covered)
    is_live = np.zeros(len(covered), bool)
    is_live[positions.drop_null().to_numpy()] = True
    task = LookUpTask.of(
        index,
        key_columns,
        is_prefix=len(key_columns) < len(columns),
        live=is_live,
        rewritable="modified" in live.column_names,
    )
    spelled = None
    if "scanned" in live.column_names:
        # the table spells paths in another way than the index
        by_number = table_paths.take(pc.index_in(covered, value_set=live.column("path")))
        paths = pc.coalesce(by_number, covered).to_pylist()
        spelled = keys.sparkSession.sparkContext.broadcast(paths)
    return KeyFiles(
        rows=_looked_up(keys, key_columns, task, spelled, at_once=at_once),
        columns=leading,
        names=[key.name for key in key_columns],
        uncovered=tuple(table_paths.filter(pc.is_null(positions)).to_pylist()),
        files=live.num_rows,
        commit=task.commit,
    )


def candidates_of_keys(
    keys: DataFrame, index: OpenedIndex, columns: Sequence[Column], table: SparkTable
) -> Candidates:
    """Return the covered files, and their rows, that may hold one of many keys.

    The frame has the leading columns of the index, in its order.
    """
    key_columns = given_keys(keys, columns[: len(keys.columns)], table.reader.name)
    key_types = [key.key_type for key in key_columns]
    is_prefix = len(key_columns) < len(columns)
    return rows_of_keys(_typed(keys, key_columns), index, key_types, is_prefix=is_prefix)


def _check_names(columns: Sequence[Column], table: str, taken: Sequence[str]) -> None:
    for column in columns:
        name = ".".join(column.path).lower()
        if name in taken:
            raise InvalidInputError(
                f"A key column of {table} is named {name}, like a column of the result.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Rename the column of the table. The index remains valid.",
            )


def _looked_up(
    keys: DataFrame,
    given: Sequence[GivenKey],
    task: LookUpTask,
    spelled: Broadcast[list[str]] | None = None,
    *,
    at_once: bool = False,
) -> DataFrame:
    """Return the distinct keys as ``key_0`` and so on, with ``files``."""
    from pyspark.sql import functions as F

    typed_keys = _typed(keys, given)
    names = typed_keys.columns
    # each task gets neighbouring keys in order, so that it reads every row group once
    tasks = (keys.sparkSession.sparkContext.defaultParallelism,) if at_once else ()
    in_order = typed_keys.repartitionByRange(*tasks, *names).sortWithinPartitions(*names)
    schema = ", ".join(f"{name} {kind}" for name, kind in typed_keys.dtypes)
    rows = in_workers(
        in_order,
        partial(files_of_keys, task=task, spelled=spelled),
        f"{schema}, {FILES} array<string>",
    )
    typed = (F.col(name).cast(key.type).alias(name) for name, key in zip(names, given, strict=True))
    return rows.select(*typed, FILES)


def _typed(keys: DataFrame, given: Sequence[GivenKey]) -> DataFrame:
    """Return the key columns of a frame as ``key_0`` and so on.

    Strings are passed as bytes, so that no decoding can fail.
    """
    from pyspark.sql import functions as F

    return keys.select(
        *(
            F.col(quoted(key.name))
            .cast("binary" if key.key_type.kind == "string" else key.type)
            .alias(f"key_{at}")
            for at, key in enumerate(given)
        )
    )


def files_of_keys(
    batches: Iterable[pa.RecordBatch],
    *,
    task: LookUpTask,
    spelled: Broadcast[list[str]] | None = None,
) -> Iterator[pa.RecordBatch]:
    """Turn batches of sorted keys into distinct keys with their live covered files."""
    tables = gathered(batches, task.batch_rows)
    first = next(tables, None)
    if first is None:
        return
    index, live = task.open()
    paths = index.paths() if spelled is None else pa.chunked_array([spelled.value], pa.string())
    if task.rewritable and spelled is None:
        paths = pc.replace_substring_regex(paths, _SIZE_AND_TIME, "")
    names = pa.concat_arrays([pa.array([], pa.string()), *paths.chunks])
    last: pa.Scalar | None = None
    null_done = False
    for keys in itertools.chain([first], tables):
        codes, rows = _fresh(task, keys, last, null_done=null_done)
        null_done |= bool(codes.null_count)
        values = len(codes) - codes.null_count
        last = codes[values - 1] if values else last
        which, numbers = KeyMatches(index, codes, is_prefix=task.is_prefix).pairs()
        is_live = live[numbers]
        yield from _with_lists(
            keys.take(pa.array(rows)), which[is_live], numbers[is_live], names, task.batch_pairs
        )


def _with_lists(
    keys: pa.Table, which: np.ndarray, numbers: np.ndarray, names: pa.Array, pairs: int
) -> Iterator[pa.RecordBatch]:
    """Give each key the list of its files. Key ``which[i]`` has the file ``numbers[i]``."""
    order = np.argsort(which, kind="stable")
    numbers = numbers[order]
    starts = np.searchsorted(which[order], np.arange(keys.num_rows + 1))
    first = 0
    while first < keys.num_rows:
        # as many keys as have at most this many files together, but at least one key
        last = int(np.searchsorted(starts, starts[first] + pairs, side="right")) - 1
        last = max(first + 1, min(last, first + pairs))
        offsets = pa.array(starts[first : last + 1] - starts[first], pa.int32())
        files = pa.array(numbers[starts[first] : starts[last]], pa.int32())
        batch = keys.slice(first, last - first)
        batch = batch.append_column(FILES, pa.ListArray.from_arrays(offsets, names.take(files)))
        yield from batch.combine_chunks().to_batches()
        first = last


def _fresh(
    task: LookUpTask, keys: pa.Table, last: pa.Scalar | None, *, null_done: bool
) -> tuple[pa.Array, np.ndarray]:
    """Return the distinct key codes that no earlier batch had, and a row index for each code."""
    columns = [column.combine_chunks() for column in keys.columns]
    distinct = sorted_codes(task.key_types, columns, is_prefix=task.is_prefix)
    codes, rows = distinct.codes, distinct.rows
    if codes.null_count and null_done:
        codes, rows = codes[:-1], rows[:-1]
    if last is not None and len(codes) and codes[0].equals(last):
        codes, rows = codes[1:], rows[1:]
    return codes, rows
