"""Merged segments still tell the keys of the units that come from one source."""

from __future__ import annotations

import hashlib
import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import depth
from tests.store.samples import DEFINITION

from lakesieve.errors import CorruptIndexError
from lakesieve.format import catalogue_id, decode_footer, encode_segment
from lakesieve.sieve import (
    EndKeys,
    ExactPart,
    ExactParts,
    build_blocks,
    largest_parts,
    sort_pairs,
)
from lakesieve.storage import open_storage
from lakesieve.store import (
    BlockCache,
    Changes,
    IndexStore,
    compaction_changes,
    stage_catalogue,
)
from lakesieve.store.key_runs import exact_parts, key_runs
from lakesieve.store.segment_loader import SegmentLoader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.format import SegmentEntry
    from lakesieve.storage import Storage
    from lakesieve.store import Snapshot
    from lakesieve.store.key_runs import KeyRuns

_roots = (f"memory://exact-parts-{number}" for number in itertools.count())

_INTEGERS = st.integers(-20, 20) | st.sampled_from([-(2**63), 2**63 - 2, 2**63 - 1])
_TEXTS = st.binary(max_size=3)
_WORDS = st.text("0123456789abcdef", min_size=4, max_size=4).map(str.encode)


def _staged(storage: Storage, files: Sequence[int], keys: list[set[Any]], cuts: int) -> Changes:
    """Write some files as segments of tiny row groups that list none of their keys."""
    names = [f"f{number}" for number in files]
    count = len(names)
    table = pa.table(
        {
            "path": names,
            "size": [1] * count,
            "records": [max(1, len(keys[number])) for number in files],
            "has_null": [False] * count,
            "has_value": [bool(keys[number]) for number in files],
        }
    )
    name = catalogue_id(table.column("path"))
    pairs = [(key, unit) for unit, number in enumerate(files) for key in keys[number]]
    every = sorted({key for key, _ in pairs})
    entries = []
    for indices in np.array_split(np.arange(len(every)), cuts):
        own = {every[at] for at in indices}
        if own:
            column = pa.array([key for key, _ in pairs if key in own])
            column = column.cast(pa.int64() if column.type == pa.int64() else pa.binary())
            units = np.array([unit for key, unit in pairs if key in own], np.int32)
            blocks = build_blocks(*sort_pairs(column, units))
            ends = EndKeys(count=len(own), is_exact=True)
            data, entry = encode_segment(
                replace(blocks, ends=ends), unit_count=count, catalogue=name, group_blocks=2
            )
            storage.replace(entry.path, data)
            entries.append(entry)
    catalogue = stage_catalogue(storage, table, segments=entries, definition=DEFINITION)
    return Changes(operation="refresh", add_catalogues=(catalogue,), add_segments=tuple(entries))


def _in_small_groups(
    storage: Storage, loader: SegmentLoader, entry: SegmentEntry, blocks_of_group: int
) -> SegmentEntry:
    """Write a segment again with small row groups."""
    opened = loader.segment(entry)
    groups = [blocks for _, blocks in loader.row_groups(opened, range(len(opened.firsts)))]
    if len(groups) != 1:
        return entry
    blocks = replace(
        groups[0],
        bounds=(entry.key_min, entry.key_max),
        ends=opened.footer.ends,
        parts=opened.footer.parts,
    )
    data, again = encode_segment(
        blocks,
        unit_count=opened.footer.unit_count,
        catalogue=entry.catalogue,
        group_blocks=blocks_of_group,
    )
    storage.replace(again.path, data)
    return again


def _check_part(runs: list[KeyRuns], held: dict[int, set[Any]], part: ExactPart) -> None:
    """Compare the runs of a part in a segment with the keys of its units in the segment."""
    seen: dict[int, set[Any]] = {unit: set() for unit in held}
    for each in runs:
        bounds = each.bounds(np.arange(len(each.runs)))
        for at, (low, end) in enumerate(
            zip(bounds.lows.to_pylist(), bounds.ends.to_pylist(), strict=True)
        ):
            start, behind = each.runs.offsets[at : at + 2].tolist()
            units = each.runs.ordinals[start:behind].tolist()
            assert all(part.start <= unit < part.end for unit in units)
            inside = {
                unit: {key for key in keys if low <= key and (end is None or key < end)}
                for unit, keys in held.items()
            }
            every = set().union(*inside.values())
            assert all(inside[unit] == every for unit in units)
            assert every or not each.has_key[at]
            if part.dense is not None:
                first, last = part.dense
                behind_all = last + 1 if end is None else end
                assert every == set(range(max(low, first), min(behind_all, last + 1)))
            for unit in units:
                seen[unit] |= inside[unit]
    assert seen == held


def _check(
    storage: Storage, state: Snapshot, keys: list[set[Any]], blocks_of_group: int
) -> list[ExactParts]:
    """Check the exact parts of each segment, and return them."""
    loader = SegmentLoader(storage, state, BlockCache(0))
    found = []
    for entry in state.segments:
        catalogue = next(each for each in state.catalogues if each.id == entry.catalogue)
        paths = loader.catalogue(catalogue).column("path").to_pylist()
        first: Any = entry.key_min
        others: list[Any] = [
            other.key_min for other in state.segments if other.catalogue == entry.catalogue
        ]
        behind = [low for low in others if low > first]
        opened = loader.segment(_in_small_groups(storage, loader, entry, blocks_of_group))
        parts = exact_parts(opened)
        if parts is None:
            continue
        found.append(parts)
        for part in parts.parts:
            # the last code of a segment of byte strings is the first key of the next segment
            held = {
                unit: {
                    key
                    for key in keys[int(paths[unit][1:])]
                    if first <= key and all(key < low for low in behind)
                }
                for unit in range(part.start, part.end)
            }
            one = replace(parts, parts=(part,))
            runs = [
                each
                for number in range(len(opened.firsts))
                for each in key_runs(opened, one, number, loader.row_group(opened, number))
            ]
            _check_part(runs, held, part)
    return found


def _life(data: st.DataObject, keys: list[set[Any]]) -> int:
    """Index files, merge, drop files, index more files and merge again; check after each step."""
    storage = open_storage(next(_roots))
    store = IndexStore(storage)
    state = store.create(DEFINITION, Changes(operation="create"))
    merged = 0
    left = list(range(len(keys)))
    while left:
        for _ in range(data.draw(st.integers(1, 3))):
            count = data.draw(st.integers(1, 4))
            files, left = left[:count], left[count:]
            if files:
                cuts = data.draw(st.integers(1, 2))
                state = store.commit(state, _staged(storage, files, keys, cuts))
        dead = data.draw(st.sets(st.integers(0, len(keys) - 1), max_size=3))
        live = pa.array([f"f{at}" for at in range(len(keys)) if at not in dead], pa.string())
        limit = data.draw(st.sampled_from([3, 10, 10_000]))
        changes = compaction_changes(store, state, live=live, segment_ordinals=limit)
        if changes is not None:
            state = store.commit(state, changes)
        parts = _check(storage, state, keys, data.draw(st.sampled_from([1, 2, 9, 100])))
        merged += sum(len(each.parts) for each in parts)
    return merged


@pytest.mark.parametrize("kind", [_INTEGERS, _TEXTS, _WORDS], ids=["integers", "texts", "words"])
@settings(max_examples=depth("EXACT_PARTS", test=60, soak=3000))
@given(data=st.data())
def test_parts_have_the_keys_of_their_units(
    kind: st.SearchStrategy[Any], data: st.DataObject
) -> None:
    """However often segments are merged and files dropped, each part tells its keys exactly."""
    keys = data.draw(st.lists(st.sets(kind, max_size=8), min_size=2, max_size=12))
    _life(data, keys)


def test_a_merge_has_a_part_for_each_source() -> None:
    """The parts of a merge follow one another, and stay when the result is merged again."""
    storage = open_storage(next(_roots))
    store = IndexStore(storage)
    keys: list[set[Any]] = [set(range(20)), set(range(20)), {3, 5, 40}, set(range(10, 30))]
    state = store.create(DEFINITION, Changes(operation="create"))
    state = store.commit(state, _staged(storage, [0, 1], keys, 1))
    state = store.commit(state, _staged(storage, [2], keys, 1))
    first = compaction_changes(store, state)
    assert first is not None
    state = store.commit(state, first)

    assert _check(storage, state, keys, 100) == [
        ExactParts(
            parts=(ExactPart(start=0, end=2, dense=(0, 19)), ExactPart(start=2, end=3)),
        )
    ]

    state = store.commit(state, _staged(storage, [3], keys, 1))
    again = compaction_changes(store, state, live=pa.array(["f1", "f2", "f3"]))
    assert again is not None
    state = store.commit(state, again)

    assert _check(storage, state, keys, 100) == [
        ExactParts(
            parts=(
                ExactPart(start=0, end=1, dense=(0, 19)),
                ExactPart(start=1, end=2),
                ExactPart(start=2, end=3, dense=(10, 29)),
            ),
        )
    ]


def test_only_the_largest_parts_are_kept() -> None:
    """Of very many parts, those with the most units stay, in their order."""
    sizes = [1 + number % 7 for number in range(100)]
    ends = np.cumsum(sizes).tolist()
    parts = [ExactPart(start=end - size, end=end) for size, end in zip(sizes, ends, strict=True)]

    kept = largest_parts(parts)

    assert len(kept) == 64
    assert list(kept) == sorted(kept, key=lambda part: part.start)
    left_out = set(parts) - set(kept)
    assert max(part.end - part.start for part in left_out) <= min(
        part.end - part.start for part in kept
    )


@pytest.mark.parametrize(
    "parts",
    [
        {"units": [[0, 3]], "dense": [None], "cut": [False, False]},
        {"units": [[0, 0]], "dense": [None], "cut": [False, False]},
        {"units": [[1, 2], [0, 1]], "dense": [None, None], "cut": [False, False]},
        {"units": [[0, 2], [1, 2]], "dense": [None, None], "cut": [False, False]},
        {"units": [[0, 2]], "dense": [], "cut": [False, False]},
        {"units": [[0, 2]], "dense": [[5, 4]], "cut": [False, False]},
        {"units": [[0, 2]], "dense": [[0, 2**63]], "cut": [False, False]},
        {"units": [[0, 1.0]], "dense": [None], "cut": [False, False]},
        {"units": [[0, 2]], "dense": [None], "cut": [False]},
        {"units": [[0, 2]], "dense": [None], "cut": [0, 1]},
        {"units": [[0, 2]], "dense": [None]},
        [],
    ],
)
def test_forged_parts_are_refused(parts: Any) -> None:
    """Parts that contradict the units, or have another form, make the segment corrupt."""
    blocks = build_blocks(*sort_pairs(pa.array([1, 2, 3]), np.array([0, 1, 0], np.int32)))
    data, entry = encode_segment(blocks, unit_count=2)
    document = json.loads(data[-entry.footer_length :])
    forged = json.dumps(document | {"parts": parts}).encode()
    lying = replace(
        entry,
        size=entry.size - entry.footer_length + len(forged),
        footer_length=len(forged),
        footer_sha256=hashlib.sha256(forged).hexdigest(),
    )

    with pytest.raises(CorruptIndexError):
        decode_footer(forged, lying)
