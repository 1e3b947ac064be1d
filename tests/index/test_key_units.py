"""Stages that look up many keys of data files: the units that they find hold every row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import depth
from tests.index.drawn_keys import INTEGERS, DrawnLife, drawn_life, opened_with, table_of

from lakesieve.spark.build.file_hashes import FileHashes
from lakesieve.spark.build.verify import missing_by_file
from lakesieve.spark.session.key_units import units_of_keys

if TYPE_CHECKING:
    from tests.kit.key_table import KeyTable

    from lakesieve.index import OpenedIndex
    from lakesieve.sieve import KeyType

EXAMPLES = depth("KEY_UNITS", test=60, soak=1500)


def _codes(key_type: KeyType, values: pa.Array) -> pa.Array:
    """Return keys as a stage gets them: strings as bytes."""
    return values.cast(pa.binary()) if key_type.kind == "string" else values


def _batches(columns: list[pa.Array], rows: int) -> list[pa.RecordBatch]:
    names = [str(at) for at in range(len(columns))]
    batches: list[pa.RecordBatch] = pa.table(columns, names).to_batches(max_chunksize=rows)
    return batches


def _found(
    opened: OpenedIndex, key_type: KeyType, keys: pa.Array, wanted: np.ndarray | None
) -> np.ndarray:
    """Return which units may hold one of the keys, by number."""
    stage = units_of_keys(opened.storage, opened.snapshot, (key_type,), wanted)
    (result,) = stage(_batches([_codes(key_type, keys)], 3))
    units = int(opened.first_units()[-1])
    (held,), (has_null,) = (column.to_pylist() for column in result.columns)
    found = np.unpackbits(np.frombuffer(held, np.uint8), count=units).astype(bool)
    if has_null:
        found |= np.repeat(opened.flagged("has_null"), np.diff(opened.first_units()))
    return found


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_units_of_keys(data: st.DataObject) -> None:
    """No unit of a wanted file is missing if a row of it has one of the keys."""
    life = drawn_life(data, always_refreshed=False)
    opened, _ = opened_with(life.table, [])
    paths = opened.paths().to_pylist()
    files = list(life.table.files)
    source = life.table.files[data.draw(st.sampled_from(files))]
    at = data.draw(st.lists(st.integers(0, max(len(source) - 1, 0)), max_size=9))
    keys = source.take(pa.array(at if len(source) else [], pa.int64()))
    wanted = np.array([data.draw(st.booleans()) for _ in paths], bool)

    found = _found(opened, life.key_type, keys, data.draw(st.sampled_from([None, wanted])))

    values = set(_plain(keys))
    for number, path in enumerate(paths):
        held = _plain(life.table.files[path])
        rows = np.flatnonzero([value in values for value in held])
        units = opened.units_of_rows(np.full(len(rows), number), rows)
        assert found[units].all() or not wanted[number]


def _plain(values: pa.Array) -> list[str]:
    # NaN equals itself, and both zeros are one key
    return [
        repr(value + 0.0 if isinstance(value, float) else value) for value in values.to_pylist()
    ]


def _wrong(table: KeyTable, key_type: KeyType, opened: OpenedIndex) -> set[str]:
    """Return the covered files with a row that an index misses."""
    paths = list(dict.fromkeys(opened.paths().to_pylist()))
    columns = [_codes(key_type, pa.concat_arrays([table.files[path] for path in paths]))]
    counts = [len(table.files[path]) for path in paths]
    if opened.definition.rows_per_block:
        columns.append(pa.array([row for count in counts for row in range(count)], pa.int64()))
    columns.append(pa.array(np.repeat(np.arange(len(paths)), counts), pa.int64()))
    results = missing_by_file(
        _batches(columns, 5),
        storage=opened.storage,
        state=opened.snapshot,
        key_types=(key_type,),
        keys_of_row=(),
        paths=paths,
        files=FileHashes(hashes=np.arange(len(paths)), ordinals=np.arange(len(paths))),
    )
    return {paths[at] for batch in results for at in batch.column(0).to_pylist()}


@settings(max_examples=EXAMPLES)
@given(data=st.data())
def test_a_sound_index_misses_no_row(data: st.DataObject) -> None:
    """Each row of a covered file is in a unit that the index names for its key."""
    life: DrawnLife = drawn_life(data, always_refreshed=False)
    opened, _ = opened_with(life.table, [])

    assert not _wrong(life.table, life.key_type, opened)


@settings(max_examples=EXAMPLES)
@given(
    files=st.lists(st.integers(2, 9), min_size=1, max_size=3),
    block=st.integers(1, 4),
    moved=st.integers(0, 2),
)
def test_a_row_in_the_next_block_is_missed(files: list[int], block: int, moved: int) -> None:
    """An index that has the rows of a file one place too late is wrong at the edge of a block."""
    ends = np.cumsum(files)
    held = [
        pa.array(range(end - rows, end), pa.int64()) for end, rows in zip(ends, files, strict=True)
    ]
    moved %= len(files)
    shifted = [
        pa.concat_arrays([values[-1:], values[:-1]]) if at == moved else values
        for at, values in enumerate(held)
    ]
    table = table_of(INTEGERS, shifted, "bigint")
    table.versions = [list(table.files)]
    table.create(rows_per_block=block)
    opened, _ = opened_with(table, [])
    true = table_of(INTEGERS, held, "bigint")

    wrong = _wrong(true, INTEGERS, opened)

    assert wrong == ({list(table.files)[moved]} if files[moved] > block else set())
