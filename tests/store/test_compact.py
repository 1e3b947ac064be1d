"""A compacted index gives the same answers as its parts, without the files that are gone."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from bench.scale.upkeep import simulate
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.faults import Crash, Fault, FaultPlan, FaultyStorage
from tests.store.samples import DEFINITION, batch, covers

from lakesieve.format import catalogue_id, encode_segment
from lakesieve.sieve import build_blocks, sort_pairs
from lakesieve.storage import Storage, open_storage
from lakesieve.store import (
    BlockCache,
    Changes,
    CompactionPolicy,
    IndexReader,
    IndexStore,
    compaction_changes,
    stage_catalogue,
    verify,
    wants_compaction,
)

if TYPE_CHECKING:
    from lakesieve.store import Snapshot

FILES = 5
_roots = (f"memory://compact-{number}" for number in itertools.count())

integers = st.integers(-20, 20) | st.sampled_from([-(2**63), 2**63 - 1])
texts = st.binary(max_size=3)
words = st.text("0123456789abcdef", min_size=4, max_size=4).map(str.encode)


@dataclass(frozen=True)
class Delta:
    """A catalogue: its numbered files, its (key, file) pairs, and where segments are cut."""

    names: list[int]
    pairs: list[tuple[Any, int]]
    cuts: int


def deltas(keys: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Delta]]:
    one = st.builds(
        Delta,
        names=st.permutations(range(12)).map(lambda order: order[:FILES]),
        pairs=st.lists(st.tuples(keys, st.integers(0, FILES - 1)), max_size=30),
        cuts=st.integers(1, 3),
    )
    return st.lists(one, min_size=1, max_size=4)


def staged(storage: Storage, delta: Delta, kind: pa.DataType) -> Changes:
    """Write a delta as segments of tiny row groups, one after the other by key."""
    files = pa.table(
        {
            "path": [f"f{name}" for name in delta.names],
            "size": [1] * FILES,
            "records": [1] * FILES,
            "has_null": [name % 2 == 0 for name in delta.names],
            "has_value": [True] * FILES,
        }
    )
    name = catalogue_id(files.column("path"))
    keys = sorted({key for key, _ in delta.pairs})
    entries = []
    for indices in np.array_split(np.arange(len(keys)), delta.cuts):
        segment_keys = {keys[at] for at in indices}
        pairs = [(key, unit) for key, unit in delta.pairs if key in segment_keys]
        if pairs:
            column = pa.array([key for key, _ in pairs], kind)
            units = np.array([unit for _, unit in pairs], np.int32)
            blocks = build_blocks(*sort_pairs(column, units))
            data, entry = encode_segment(blocks, unit_count=FILES, catalogue=name, group_blocks=2)
            storage.replace(entry.path, data)
            entries.append(entry)
    catalogue = stage_catalogue(storage, files, segments=entries, definition=DEFINITION)
    return Changes(operation="refresh", add_catalogues=(catalogue,), add_segments=tuple(entries))


def answers(store: IndexStore, keys: list[Any], state: Snapshot) -> dict[Any, set[str]]:
    reader = IndexReader(store, state, BlockCache())
    paths = {entry.id: reader.loader.catalogue(entry).column("path") for entry in state.catalogues}
    expected = {}
    for key in keys:
        after = key + 1 if isinstance(key, int) else key + b"\0"
        found = reader.lookup([(key, after)]) or {}
        expected[key] = {
            paths[name][int(unit)].as_py() for name, units in found.items() for unit in units
        }
    return expected


def _check(
    deltas: list[Delta], kind: pa.DataType, dead: set[int], limit: int, *, is_exact: bool = True
) -> None:
    storage = open_storage(next(_roots))
    store = IndexStore(storage)
    state = store.create(DEFINITION, Changes(operation="create"))
    # the same files twice would be one catalogue twice
    for delta in {tuple(delta.names): delta for delta in deltas}.values():
        state = store.commit(state, staged(storage, delta, kind))
    live = pa.array([f"f{name}" for name in range(12) if name not in dead], pa.string())
    wanted: dict[Any, set[str]] = {}
    kept = {tuple(delta.names): delta for delta in deltas}.values()
    for delta in kept:
        for key, unit in delta.pairs:
            names = {f"f{delta.names[unit]}"} if delta.names[unit] not in dead else set()
            wanted.setdefault(key, set()).update(names)
    before = answers(store, list(wanted), state)
    changes = compaction_changes(store, state, live=live, segment_ordinals=limit)
    after = state if changes is None else store.commit(state, changes)

    gone = {f"f{name}" for name in dead}
    # a key whose files are all gone is as any other that is not there
    left = [key for key, names in wanted.items() if names]

    result = answers(store, left, after)
    assert all(wanted[key] <= result[key] for key in left)
    # a key of one part may be an absent key of another, or the end of the segment before it
    if is_exact and len(after.segments) < 2:
        assert result == {key: before[key] - gone for key in left}
    paths = [p for e in after.catalogues for p in store.covered_by(after)(e).to_pylist()]
    alive = {f"f{name}" for delta in kept for name in delta.names} - gone
    assert changes is None or sorted(paths) == sorted(alive)
    assert changes is None or len(after.catalogues) <= 1
    # merged segments follow each other under one text code
    again = compaction_changes(store, after, segment_ordinals=10**6)
    last = after if again is None else store.commit(after, again)
    result = answers(store, left, last)
    assert all(wanted[key] <= result[key] for key in left)
    assert verify(store).is_sound


@given(deltas(integers), st.sets(st.integers(0, 11)), st.integers(1, 40))
def test_merged_integers_answer_like_their_parts(
    deltas: list[Delta], dead: set[int], limit: int
) -> None:
    """Present keys find exactly the live files that held them, each file listed once."""
    _check(deltas, pa.int64(), dead, limit)


@given(deltas(texts), st.sets(st.integers(0, 11)), st.integers(1, 40))
def test_merged_byte_strings_answer_like_their_parts(
    deltas: list[Delta], dead: set[int], limit: int
) -> None:
    """The same for byte strings of any kind."""
    _check(deltas, pa.binary(), dead, limit, is_exact=len(deltas) == 1)


@given(deltas(words), st.sets(st.integers(0, 11)), st.integers(1, 40))
def test_merged_text_codes_answer_like_their_parts(
    deltas: list[Delta], dead: set[int], limit: int
) -> None:
    """The same for strings that have a text code."""
    _check(deltas, pa.binary(), dead, limit, is_exact=len(deltas) == 1)


def grown(sizes: list[int]) -> IndexStore:
    store = IndexStore(open_storage(next(_roots)))
    state = store.create(DEFINITION, batch(store.storage, 0, "create"))
    for number in range(1, len(sizes)):
        state = store.commit(state, batch(store.storage, 100 * number))
    return store


@pytest.mark.parametrize(
    ("catalogues", "policy", "merged"),
    [
        (1, CompactionPolicy(deltas=0), 0),
        (2, CompactionPolicy(deltas=0), 2),
        (5, CompactionPolicy(deltas=4), 0),
        (6, CompactionPolicy(deltas=4), 6),
        (17, None, 0),
        (18, None, 18),
    ],
    ids=["one", "each-refresh", "not-yet", "now", "default", "default-now"],
)
def test_when_to_compact(catalogues: int, policy: CompactionPolicy | None, merged: int) -> None:
    """Deltas are merged if there are too many, together with older ones of similar size."""
    state = grown([1] * catalogues).snapshot()

    chosen = wants_compaction(state, policy)

    assert chosen == tuple(entry.id for entry in state.catalogues[catalogues - merged :])


def test_a_large_first_catalogue_is_left_alone() -> None:
    """If the first catalogue is much larger than all deltas, only the deltas are merged."""
    catalogues = [SimpleNamespace(id=n, size=100 if n else 10_000) for n in range(6)]
    state: Any = SimpleNamespace(catalogues=catalogues, segments=())

    assert wants_compaction(state, CompactionPolicy(deltas=4)) == tuple(
        entry.id for entry in catalogues[1:]
    )


@pytest.mark.parametrize("base", [0, 2_000_000_000], ids=["from-nothing", "a-large-table"])
def test_how_often_bytes_are_written(base: int) -> None:
    """In twenty thousand refreshes of all sizes, each byte is written about five times."""
    done = simulate(20_000, CompactionPolicy(), base=base, sizes="mixed")

    assert done.most_deltas == CompactionPolicy().deltas
    assert 1 < done.amplification < 7


def test_some_of_the_catalogues() -> None:
    """Catalogues that are not chosen stay unchanged."""
    store = grown([1, 1, 1, 1])
    before = store.snapshot()
    changes = compaction_changes(
        store, before, catalogues=[entry.id for entry in before.catalogues[2:]]
    )
    assert changes is not None
    after = store.commit(before, changes)

    assert after.catalogues[:2] == before.catalogues[:2]
    assert after.segments[:4] == before.segments[:4]
    assert len(after.catalogues) == 3
    assert covers(store) == {0, 100, 200, 300}
    counts = [sum(e.keys for e in state.segments) for state in (before, after)]
    assert counts[0] == counts[1] == 400


def test_one_whole_catalogue_is_left_alone() -> None:
    """If a merge would gain nothing, nothing is written."""
    store = grown([1])
    merged = compaction_changes(store, store.snapshot())
    assert merged is not None  # two segments of one catalogue become one
    store.commit(store.snapshot(), merged)
    objects = store.storage.objects("")

    assert compaction_changes(store, store.snapshot()) is None
    assert store.storage.objects("") == objects


def test_files_without_a_value_survive() -> None:
    """A catalogue of files with only nulls has no segments, but is kept."""
    storage = open_storage(next(_roots))
    store = IndexStore(storage)
    state = store.create(DEFINITION, staged(storage, Delta([0, 2, 4, 6, 8], [], 1), pa.int64()))
    state = store.commit(state, staged(storage, Delta([1, 3, 5, 7, 9], [(5, 0)], 1), pa.int64()))

    changes = compaction_changes(store, state)
    assert changes is not None
    state = store.commit(state, changes)

    assert answers(store, [5], state) == {5: {"f1"}}
    files = IndexReader(store, state, BlockCache()).loader.catalogue(state.catalogues[0])
    assert dict(zip(files["path"].to_pylist(), files["has_null"].to_pylist(), strict=True)) == {
        f"f{name}": name % 2 == 0 for name in range(10)
    }


def test_all_files_gone() -> None:
    """An index without any live files becomes empty, and can grow again."""
    store = grown([1, 1])
    state = store.snapshot()
    changes = compaction_changes(store, state, live=pa.array([], pa.string()))
    assert changes is not None
    state = store.commit(state, changes)

    assert (state.catalogues, state.segments) == ((), ())
    assert covers(store, store.commit(state, batch(store.storage, 700))) == {700}


def test_integers_and_byte_strings_are_merged_apart() -> None:
    """A column whose promotion changed the physical type keeps segments of both types."""
    storage = open_storage(next(_roots))
    store = IndexStore(storage)
    state = store.create(
        DEFINITION, staged(storage, Delta([0, 1, 2, 3, 4], [(5, 0)], 1), pa.int64())
    )
    wide = Delta([5, 6, 7, 8, 9], [((5 + 2**127).to_bytes(16, "big"), 0)], 1)
    state = store.commit(state, staged(storage, wide, pa.binary()))

    changes = compaction_changes(store, state)
    assert changes is not None
    state = store.commit(state, changes)

    assert [type(entry.key_min) for entry in state.segments] == [int, bytes]
    assert answers(store, [5], state) == {5: {"f0", "f5"}}


def test_memory_is_bounded_by_row_groups() -> None:
    """Consecutive segments of one catalogue are read one row group at a time."""
    storage = open_storage(next(_roots))
    store = IndexStore(storage)
    delta = Delta([0, 1, 2, 3, 4], [(key, key % FILES) for key in range(40)], 3)
    state = store.create(DEFINITION, staged(storage, delta, pa.int64()))
    plan = FaultPlan(fault=Fault.CRASH_BEFORE)
    counted = IndexStore(FaultyStorage(location=storage.location, plan=plan))

    compaction_changes(counted, state, segment_ordinals=4)

    # a segment is written as soon as there is enough for one, before the last is read
    kinds = [call.split("/")[0] for call in plan.calls]
    assert "get segments" in kinds[kinds.index("replace segments") :]
    assert not issubclass(Crash, Exception)


def test_merging_again_costs_no_exactness() -> None:
    """Merging segments of strings again does not change their answers."""
    storage = open_storage(next(_roots))
    store = IndexStore(storage)
    keys = [f"{key:04d}".encode() for key in range(400)]
    pairs = [(key, at % FILES) for at, key in enumerate(keys)]
    state = store.create(DEFINITION, staged(storage, Delta([0, 1, 2, 3, 4], pairs, 3), pa.binary()))
    state = store.commit(
        state, compaction_changes(store, state, segment_ordinals=40) or Changes(operation="none")
    )
    once = answers(store, keys, state)
    assert len(state.segments) > 5
    state = store.commit(
        state, compaction_changes(store, state, segment_ordinals=10**6) or Changes(operation="none")
    )

    twice = answers(store, keys, state)
    assert len(state.segments) == 1
    more = [key for key in keys if twice[key] != once[key]]
    assert all(once[key] <= twice[key] for key in keys)
    assert len(more) <= 3
