"""Indexes built in one process, without Spark, by both stages of the real build."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.format import catalogue_id
from lakesieve.index.access import without_engine
from lakesieve.index.definition import define, key_columns
from lakesieve.sieve import KeyType
from lakesieve.spark.build.stages import (
    CutPlan,
    KeyRuns,
    ScatterPlan,
    SegmentPlan,
    cut,
    scatter,
)
from lakesieve.spark.build.tally import collected
from lakesieve.store import COMPACTION, Changes, IndexStore, stage_catalogue

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.format import IndexDefinition, SegmentEntry
    from lakesieve.tables import TableReader


def build_index(
    table: TableReader,
    column: str,
    read: Callable[[str], pa.Array],
    *,
    covers: Callable[[str], bool] = lambda _: True,
) -> None:
    """Index the data files of the current version on one column, beside the table.

    All keys are in memory at once.

    Raises:
        NotFoundError: There is no such column.
        UnsupportedError: Its type cannot be indexed.
        InvalidInputError: The table has such an index.
    """
    version = table.version()
    keys = key_columns(table, version, [column])
    definition = define(
        table, keys, column, budget=None, absent_hits=1 / 256, compaction=COMPACTION
    )
    store = IndexStore(without_engine().new_storage(table, column, None))
    changes = _changes(store, definition, table, read, covers)
    store.create(definition, replace(changes, operation="create"))


def refresh_index(table: TableReader, column: str, read: Callable[[str], pa.Array]) -> None:
    """Add the data files of the current version that an index has not seen.

    Raises:
        CommitConflictError: Others commit all the time.
    """
    store = without_engine().stores(table)[column]
    state = store.snapshot()
    covered_by = store.covered_by(state)
    seen = {path for entry in state.catalogues for path in covered_by(entry).to_pylist()}
    changes = _changes(store, state.definition, table, read, lambda path: path not in seen)
    store.commit(state, changes)


def _changes(
    store: IndexStore,
    definition: IndexDefinition,
    table: TableReader,
    read: Callable[[str], pa.Array],
    covers: Callable[[str], bool],
) -> Changes:
    """What a commit adds of some live files."""
    files = table.live_files(table.version())
    kept = [covers(path) for path in files.column("path").to_pylist()]
    files = files.filter(pa.array(kept, pa.bool_()))
    paths = files.column("path").to_pylist()
    column = tuple(definition.columns[0].name.split("."))
    segments, tally = _staged(store, column, paths, [read(path) for path in paths], table)
    listed = pa.table(
        {
            "path": files.column("path"),
            "size": files.column("size"),
            "records": pa.array(tally[0]),
            "has_null": pa.array(tally[1] > 0),
            "has_value": pa.array(tally[0] > tally[1]),
            "repeats": pa.array(tally[2] > 0),
        }
    )
    entry = stage_catalogue(store.storage, listed, segments=segments, definition=definition)
    return Changes(operation="refresh", add_catalogues=(entry,), add_segments=segments)


def _staged(
    store: IndexStore,
    column: tuple[str, ...],
    paths: list[str],
    values: list[pa.Array],
    table: TableReader,
) -> tuple[tuple[SegmentEntry, ...], np.ndarray]:
    """The segments, and for each file its rows, its nulls, and whether a key repeats."""
    known = table.columns(table.version())[column]
    key_type = KeyType(kind=known.kind, scale=known.scale, precision=known.precision)
    ordinals = np.repeat(np.arange(len(paths)), [len(each) for each in values])
    keys = pa.concat_arrays(values) if values else pa.array([], pa.int64())
    if key_type.kind == "string":
        keys = keys.cast(pa.binary())
    batch = pa.record_batch([keys, pa.array(ordinals, pa.int64())], ["key", "file"])
    runs = KeyRuns(columns=(0,), key_types=(key_type,), boundaries=())
    scattered = ScatterPlan(
        runs=(runs,),
        hashes=np.arange(len(paths)),
        ordinals=np.arange(len(paths), dtype=np.int32),
    )
    of = SegmentPlan(
        storage=store.storage, tally_bucket=runs.tally_bucket, absent_hits=1 / 256, budget=None
    )
    catalogue = catalogue_id(pa.chunked_array([paths], pa.string()))
    cuts = CutPlan(segments=(of,), catalogue=catalogue, unit_count=len(paths))
    written = cut(cuts)(scatter(scattered)([batch]))
    parts = ((out.column(1)[0].as_py(), out.column(2)[0].as_py()) for out in written)
    return collected(parts, len(paths))
