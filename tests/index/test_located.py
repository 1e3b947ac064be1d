"""The stage that looks up keys in bulk agrees with a dictionary, without Spark."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.store.samples import DEFINITION

from lakesieve.errors import InvalidInputError
from lakesieve.format import catalogue_id, encode_segment
from lakesieve.sieve import KeyType, build_blocks, encode_rows, sort_pairs
from lakesieve.spark.commands.key_lookup import LookUpTask, files_of_keys
from lakesieve.storage import open_storage
from lakesieve.store import Changes, IndexStore, stage_catalogue

if TYPE_CHECKING:
    from lakesieve.format import SegmentEntry

FILES = 6
TYPES = {"integer": pa.int64(), "string": pa.binary()}
_numbers = iter(range(10**9))

Row = tuple[Any, ...]


def task_of(rows: list[tuple[Row, int]], kinds: tuple[str, ...], dead: set[int]) -> LookUpTask:
    """Index rows, each with the number of its file, and return the task of a look-up."""
    store = IndexStore(open_storage(f"memory://located-{next(_numbers)}"))
    types = tuple(KeyType(kind=kind) for kind in kinds)
    columns = [pa.array([row[at] for row, _ in rows], TYPES[k]) for at, k in enumerate(kinds)]
    codes = encode_rows(types, columns)
    units = np.array([unit for _, unit in rows], np.int32)
    valid = codes.is_valid().to_numpy(zero_copy_only=False)
    nulls = set(units[~valid].tolist())
    table = pa.table(
        {
            "path": [f"/x/{n}#7@{n}" for n in range(FILES)],
            "size": [1] * FILES,
            "records": [1] * FILES,
            "has_null": [n in nulls for n in range(FILES)],
            "has_value": [True] * FILES,
        }
    )
    catalogue = catalogue_id(table.column("path"))
    segments: tuple[SegmentEntry, ...] = ()
    if valid.any():
        blocks = build_blocks(*sort_pairs(codes.drop_null(), units[valid]))
        data, entry = encode_segment(blocks, unit_count=FILES, catalogue=catalogue, group_blocks=2)
        store.storage.replace(entry.path, data)
        segments = (entry,)
    files = stage_catalogue(store.storage, table, segments=segments, definition=DEFINITION)
    changes = Changes(operation="create", add_catalogues=(files,), add_segments=segments)
    state = store.create(DEFINITION, changes)
    return LookUpTask(
        storage=store.storage,
        commit=state.number,
        write_id=state.write_id,
        key_types=types,
        is_prefix=False,
        live=np.packbits([n not in dead for n in range(FILES)]).tobytes(),
        rewritable=True,
    )


def look_up(task: LookUpTask, keys: list[Row], kinds: tuple[str, ...], cut: int) -> list[Row]:
    """Look up keys in Spark's sort order, in batches of some rows."""
    keys = sorted(keys, key=lambda row: tuple((v is not None, v) for v in row))
    batches = [
        pa.record_batch(
            [pa.array([row[at] for row in chunk], TYPES[k]) for at, k in enumerate(kinds)],
            names=[f"key_{at}" for at in range(len(kinds))],
        )
        for chunk in (keys[at : at + cut] for at in range(0, len(keys), cut))
    ]
    rows = [row for out in files_of_keys(batches, task=task) for row in out.to_pylist()]
    given = [tuple(row[f"key_{at}"] for at in range(len(kinds))) for row in rows]
    assert len(given) == len(set(given))
    return [(*key, f) for key, row in zip(given, rows, strict=True) for f in row["files"]]


integers = st.none() | st.integers(-3, 12)
texts = st.none() | st.binary(max_size=2)


@given(data=st.data())
def test_present_keys_have_their_files(data: st.DataObject) -> None:
    """Each present key comes once with all of its live files, however batches are cut."""
    kinds, row = data.draw(
        st.sampled_from(
            [
                (("integer",), st.tuples(integers)),
                (("string",), st.tuples(texts)),
                (("integer", "string"), st.tuples(integers, texts)),
            ]
        )
    )
    rows = data.draw(st.lists(st.tuples(row, st.integers(0, FILES - 1)), min_size=1, max_size=30))
    dead = data.draw(st.sets(st.integers(0, FILES - 1)))
    task = task_of(rows, kinds, dead)
    task = replace(task, batch_rows=data.draw(st.sampled_from([1, 3, 1000])), batch_pairs=2)
    keys = data.draw(st.lists(st.sampled_from([key for key, _ in rows]) | row, min_size=1))
    found = look_up(task, keys, kinds, cut=data.draw(st.integers(1, 5)))

    present = {key for key, _ in rows}
    result = {row for row in found if row[:-1] in present}
    expected = {(*k, f"/x/{u}") for k, u in rows if k in keys and u not in dead}
    assert result == expected
    assert len(found) == len(set(found))
    assert {row[:-1] for row in found} <= set(keys)


def test_an_index_made_anew_is_noticed() -> None:
    """A task that finds another index under the same name raises an error."""
    task = task_of([((1,), 0)], ("integer",), set())
    other = replace(task, write_id="another")
    with pytest.raises(InvalidInputError, match="created again"):
        look_up(other, [(1,)], ("integer",), 1)
