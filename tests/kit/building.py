"""Indexes built in one process, without Spark, by both stages of the real build."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.format import catalogue_id
from lakesieve.index.access import without_engine
from lakesieve.index.definition import define, key_columns
from lakesieve.sieve import ABSENT_HITS, Budget
from lakesieve.spark.build.file_hashes import FileHashes
from lakesieve.spark.build.segments import WrittenSegments
from lakesieve.spark.build.source import key_types
from lakesieve.spark.build.stages import IndexTask, cut, scatter
from lakesieve.store import COMPACTION, IndexStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lakesieve.format import IndexDefinition
    from lakesieve.store import Changes
    from lakesieve.tables import TableReader


def write_segments(
    files: pa.Table, batches: Iterable[pa.RecordBatch], task: IndexTask
) -> WrittenSegments:
    """Run both stages of a build.

    Args:
        files: ``path``, ``size`` and ``records`` of the data files.
        batches: Key columns, the number of each row in its file if the index has row blocks, and
            last the number of each row's file.
        task: The index.
    """
    numbers = np.arange(files.num_rows)
    records = files.column("records").to_numpy()
    task = replace(task, first_ordinals=task.unit.first_ordinals(records))
    hashes = FileHashes(hashes=numbers, ordinals=numbers.astype(np.int32))
    runs = scatter(batches, indexes=[task], files=hashes)
    catalogue = catalogue_id(files.column("path"))
    results = cut(runs, indexes=[task], catalogue=catalogue)
    return WrittenSegments.of(files, pa.Table.from_batches(list(results)), task.unit)


def build_index(
    table: TableReader,
    column: str | Sequence[str],
    read: Callable[[str], pa.Array | Sequence[pa.Array]],
    *,
    covers: Callable[[str], bool] = lambda _: True,
    rows_per_block: int = 0,
    budget: str | None = None,
) -> None:
    """Index the data files of the current version on one or several columns, beside the table.

    Args:
        table: The table.
        column: The key column, or several. Their names joined by ``_`` are the name of the index.
        read: Reads the keys of a data file: an array, or one for each of several columns.
        covers: Which data files are indexed.
        rows_per_block: Rows of a block; 0 for whole data files.
        budget: Limit of the size or of false files; ``None`` for an exact index.
    """
    names = [column] if isinstance(column, str) else list(column)
    keys = key_columns(table, table.version(), names)
    name = "_".join(names)
    definition = define(
        table,
        keys,
        name,
        budget=budget,
        absent_hits=ABSENT_HITS,
        compaction=COMPACTION,
        rows_per_block=rows_per_block,
    )
    store = IndexStore(without_engine().new_storage(table, name, None))
    changes = _changes(store, definition, table, read, covers)
    store.create(definition, replace(changes, operation="create"))


def refresh_index(
    table: TableReader, name: str, read: Callable[[str], pa.Array | Sequence[pa.Array]]
) -> None:
    """Add the data files of the current version that an index has not seen."""
    store = IndexStore(without_engine().index_storage(table, name, None))
    state = store.snapshot()
    covered_by = store.covered_by(state)
    seen = {path for entry in state.catalogues for path in covered_by(entry).to_pylist()}
    store.commit(
        state,
        _changes(store, state.definition, table, read, lambda path: path not in seen),
    )


def _changes(
    store: IndexStore,
    definition: IndexDefinition,
    table: TableReader,
    read: Callable[[str], pa.Array | Sequence[pa.Array]],
    covers: Callable[[str], bool],
) -> Changes:
    """Write the segments of some live files, and return their commit."""
    version = table.version()
    files = table.live_files(version)
    files = files.filter(pa.array(map(covers, files.column("path").to_pylist()), pa.bool_()))
    found = [read(path) for path in files.column("path").to_pylist()]
    keys = [[each] if isinstance(each, pa.Array) else each for each in found]
    at = files.column_names.index("records")
    counts = pa.array([len(columns[0]) for columns in keys], pa.int64())
    files = files.set_column(at, "records", counts)
    of_table = table.columns(version)
    own = [of_table[tuple(key.name.split("."))] for key in definition.columns]
    batches = []
    for number, columns in enumerate(keys):
        parts = [
            each.cast(pa.binary()) if column.kind == "string" else each
            for each, column in zip(columns, own, strict=True)
        ]
        rows = len(columns[0])
        if definition.rows_per_block:
            parts.append(pa.array(range(rows), pa.int64()))
        parts.append(pa.array([number] * rows, pa.int64()))
        batches.append(pa.record_batch(parts, [str(at) for at in range(len(parts))]))
    task = IndexTask(
        columns=tuple(range(len(own))),
        key_types=key_types(own),
        storage=store.storage,
        absent_hits=definition.absent_hits,
        budget=Budget.parse(definition.budget) if definition.budget else None,
        unit=definition.unit,
    )
    written = write_segments(files, batches, task)
    return written.changes(store.storage, definition, version, "refresh")
