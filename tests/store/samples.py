"""A small index for the tests of the store: what it must answer is plain to see.

A batch starts at a number: keys ``first`` to ``first + 99`` lie in turn in four data files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.format import IndexDefinition, KeyColumn, catalogue_id
from lakesieve.sieve import build_blocks, sort_pairs
from lakesieve.store import (
    BlockCache,
    Changes,
    IndexReader,
    IndexStore,
    stage_catalogue,
    stage_segment,
)

if TYPE_CHECKING:
    from lakesieve.storage import Storage
    from lakesieve.store import Snapshot

DEFINITION = IndexDefinition(
    name="k",
    index_uuid="u",
    table_format="iceberg",
    table_uuid="t",
    table_location="/t",
    columns=(KeyColumn(field_id=1, name="k", type="long", key_kind="integer"),),
    created_at="2026-01-31T00:00:00+00:00",
)
FILES = 4
KEYS = 100


def data_files(first: int) -> list[str]:
    """Return the data files of a batch."""
    return [f"/t/{first}-{n}.parquet" for n in range(FILES)]


def batch(storage: Storage, first: int, operation: str = "refresh") -> Changes:
    """Stage a batch in two segments."""
    files = pa.table(
        {
            "path": data_files(first),
            "size": [10] * FILES,
            "records": [KEYS // FILES] * FILES,
            "has_null": [False] * FILES,
            "has_value": [True] * FILES,
        }
    )
    catalogue = catalogue_id(files.column("path"))
    segments = []
    for start in (0, KEYS // 2):
        keys = np.arange(start, start + KEYS // 2)
        blocks = build_blocks(*sort_pairs(pa.array(first + keys), (keys % FILES).astype(np.int32)))
        segments.append(stage_segment(storage, blocks, unit_count=FILES, catalogue=catalogue))
    entry = stage_catalogue(storage, files, segments=segments, definition=DEFINITION)
    return Changes(
        operation=operation,
        table_version={"id": str(first)},
        add_catalogues=(entry,),
        add_segments=tuple(segments),
    )


def found(reader: IndexReader, state: Snapshot, key: int) -> set[str]:
    """Return the data files that an index names for a key."""
    hits = reader.lookup([(key, key + 1)])
    assert hits is not None
    files = {entry.id: reader.loader.catalogue(entry).column("path") for entry in state.catalogues}
    return {files[name][int(unit)].as_py() for name, units in hits.items() for unit in units}


def expected(firsts: set[int], key: int) -> set[str]:
    """Return the data files that an index of some batches must name for a key."""
    return {data_files(first)[(key - first) % FILES] for first in firsts if 0 <= key - first < KEYS}


def covers(store: IndexStore, snapshot: Snapshot | None = None) -> set[int]:
    """Return the batches that an index covers, after checking its answers for each of them."""
    state = snapshot or store.snapshot()
    reader = IndexReader(store, state, BlockCache())
    files = [reader.loader.catalogue(entry).column("path") for entry in state.catalogues]
    result = [path for paths in files for path in paths.to_pylist()]
    paths = set(result)
    assert len(result) == len(paths)
    firsts = {int(path.split("/")[2].split("-")[0]) for path in paths}
    assert paths == {path for first in firsts for path in data_files(first)}
    for first in firsts:
        for key in (first, first + 49, first + 50, first + 99):
            assert found(reader, state, key) == expected(firsts, key)
    return firsts
