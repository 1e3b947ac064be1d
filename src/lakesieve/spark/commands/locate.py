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
from lakesieve.index.given_keys import key_columns_of
from lakesieve.index.many_keys import files_of_codes, sorted_codes
from lakesieve.spark.commands.keys import given_keys
from lakesieve.spark.tables.reading import quoted
from lakesieve.spark.tables.workers import gathered, in_workers
from lakesieve.spark.versions.spark_versions import frame_of
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame

    from lakesieve.sieve import KeyType
    from lakesieve.spark.commands.keys import GivenKey
    from lakesieve.spark.tables import SparkTable
    from lakesieve.spark.tables.workers import Stage
    from lakesieve.storage import Storage
    from lakesieve.tables import Column, TableVersion

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
    table: SparkTable,
    version: TableVersion,
    columns: Sequence[Column],
) -> Located:
    """Plan the look-up of a frame of keys.

    Raises:
        NotFoundError: The first key column is missing in the frame.
        InvalidInputError: A column is of another type, no key column, or skips one.
    """
    given = given_keys(
        keys, leading_keys(keys, columns, table.reader.name, FILE), table.reader.name
    )
    live = table.reader.live_files(version)
    plan, uncovered = plan_of(given, index, live, is_prefix=len(given) < len(columns))
    names = [key.name for key in given]
    pairs = by_keys(keys, given, located(plan), f"{FILE} string").toDF(*names, FILE)
    if "scanned" in live.column_names:
        pairs = _spelled(pairs, live)
    return Located(
        pairs=pairs,
        uncovered=uncovered,
        files=live.num_rows,
        version=version.id,
        index=index.definition.name,
        commit=plan.commit,
    )


def plan_of(
    given: Sequence[GivenKey], index: OpenedIndex, live: pa.Table, *, is_prefix: bool
) -> tuple[LocatePlan, tuple[str, ...]]:
    """What tasks must know to look up keys.

    Returns:
        That, and the live files that the index has not seen.
    """
    covered = index.paths()
    # a file that several deltas cover is named by the first of them
    positions = pc.index_in(live.column("path"), value_set=covered)
    bits = np.zeros(len(covered), bool)
    bits[positions.drop_null().to_numpy()] = True
    shown = live.column("location" if "location" in live.column_names else "path")
    rewritable = "modified" in live.column_names
    plan = lookup_plan(given, index, bits, is_prefix=is_prefix, rewritable=rewritable)
    return plan, tuple(shown.filter(pc.is_null(positions)).to_pylist())


def lookup_plan(
    given: Sequence[GivenKey],
    index: OpenedIndex,
    live: np.ndarray,
    *,
    is_prefix: bool,
    rewritable: bool = False,
) -> LocatePlan:
    """As :func:`plan_of`, by what is known of the covered files."""
    return LocatePlan(
        storage=index.storage,
        commit=index.snapshot.number,
        write_id=index.snapshot.write_id,
        key_types=tuple(key.key_type for key in given),
        is_prefix=is_prefix,
        live=np.packbits(live).tobytes(),
        rewritable=rewritable,
    )


def leading_keys(
    keys: DataFrame, columns: Sequence[Column], table: str, *taken: str
) -> Sequence[Column]:
    """Those of an index's leading columns that a frame has.

    Raises:
        NotFoundError: The first key column is missing in the frame.
        InvalidInputError: A column is no key column, or called like one of the answer.
    """
    found = key_columns_of(keys.columns, columns, table)
    names = [".".join(column.path).lower() for column in found]
    for name in names:
        if name not in taken:
            continue
        raise InvalidInputError(
            f"A key column of {table} is called {name}, like a column of the answer.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Rename the column of the table; the index stays as it is.",
        )
    return found


def by_keys(
    keys: DataFrame, given: Sequence[GivenKey], stage: Stage, further: str, *, at_once: bool = False
) -> DataFrame:
    """Run a stage over keys in order.

    Args:
        keys: The keys, with no others than the given columns needed.
        given: The key columns.
        stage: What is run; its first columns are the keys.
        further: Further columns that it gives, as DDL.
        at_once: Whether there are only as many tasks as can run at the same time: of what is kept
            Spark keeps all partitions, however small.

    Returns:
        ``key_0``, ``key_1`` and so on, of the given types, and those.
    """
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
    tasks = keys.sparkSession.sparkContext.defaultParallelism
    ranges = (
        typed_keys.repartitionByRange(tasks, *names)
        if at_once
        else typed_keys.repartitionByRange(*names)
    )
    in_order = ranges.sortWithinPartitions(*names)
    schema = ", ".join(f"{name} {kind}" for name, kind in zip(names, passed, strict=True))
    found = in_workers(in_order, stage, f"{schema}, {further}")
    typed = (F.col(name).cast(key.type).alias(name) for name, key in zip(names, given, strict=True))
    return found.select(*typed, *found.columns[len(names) :])


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
        for found in looked_up(plan, batches):
            for start in range(0, len(found.which), plan.found_rows):
                chunk = slice(start, start + plan.found_rows)
                batch = found.keys.take(pa.array(found.which[chunk]))
                batch = batch.append_column(FILE, found.paths.take(pa.array(found.numbers[chunk])))
                yield from batch.combine_chunks().to_batches()

    return run


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LookedUp:
    """Some keys and their files.

    Args:
        keys: Keys, each once.
        which: A key, by its row, and
        numbers: a live covered file that can hold it: one element a pair, in any order.
        paths: Paths of the covered files.
    """

    keys: pa.Table
    which: np.ndarray
    numbers: np.ndarray
    paths: pa.Array


def looked_up(plan: LocatePlan, batches: Iterable[pa.RecordBatch]) -> Iterator[LookedUp]:
    """Look up batches of sorted keys, many at once, each key once."""
    tables = gathered(batches, plan.batch_rows)
    first = next(tables, None)
    if first is None:
        return
    index = opened_again(plan)
    paths = _paths(index, plan)
    bits = np.frombuffer(plan.live, np.uint8)
    live = np.unpackbits(bits, count=len(paths)).astype(bool)
    last: pa.Scalar | None = None
    null_done = False
    for keys in itertools.chain([first], tables):
        codes, rows = _fresh(plan, keys, last, null_done=null_done)
        null_done |= bool(codes.null_count)
        values = len(codes) - codes.null_count
        last = codes[values - 1] if values else last
        which, numbers = files_of_codes(index, codes, is_prefix=plan.is_prefix)
        kept = live[numbers]
        yield LookedUp(
            keys=keys.take(pa.array(rows)),
            which=which[kept],
            numbers=numbers[kept],
            paths=paths,
        )


def opened_again(plan: LocatePlan) -> OpenedIndex:
    """Open the index of a plan in a task.

    Raises:
        InvalidInputError: It is another one now.
    """
    store = IndexStore(plan.storage)
    state = store.snapshot(plan.commit)
    if state.write_id != plan.write_id:
        raise InvalidInputError(
            "The index was dropped and created again since the keys were given.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Call locate again.",
        )
    return OpenedIndex.at(store, state, in_order=True)


def _paths(index: OpenedIndex, plan: LocatePlan) -> pa.Array:
    paths = index.paths()
    if plan.rewritable:
        paths = pc.replace_substring_regex(paths, _SIZE_AND_TIME, "")
    return pa.concat_arrays([pa.array([], pa.string()), *paths.chunks])


def _fresh(
    plan: LocatePlan, keys: pa.Table, last: pa.Scalar | None, *, null_done: bool
) -> tuple[pa.Array, np.ndarray]:
    """Codes of the keys, each once, and a row of each, without those that came before."""
    columns = [column.combine_chunks() for column in keys.columns]
    found = sorted_codes(plan.key_types, columns, is_prefix=plan.is_prefix)
    codes, rows = found.codes, found.rows
    if codes.null_count and null_done:
        codes, rows = codes[:-1], rows[:-1]
    if last is not None and len(codes) and codes[0].equals(last):
        codes, rows = codes[1:], rows[1:]
    return codes, rows
