"""Look-ups in stored segments agree with a dictionary."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st
from tests.store.samples import DEFINITION

from lakesieve.format import catalogue_id, encode_segment
from lakesieve.sieve import build_blocks, sort_pairs, wide_code
from lakesieve.storage import Storage, open_storage
from lakesieve.store import BlockCache, Changes, IndexReader, IndexStore, stage_catalogue
from lakesieve.store.reader import FEW_ROW_GROUPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from lakesieve.format import IndexDefinition, SegmentEntry

Pairs = list[tuple[Any, int]]
"""Keys, and a unit of each."""

FILES = 9
integers = st.integers(-20, 20) | st.sampled_from([-(2**63), 2**63 - 1])
strings = st.binary(max_size=2)
_numbers = iter(range(10**9))


def _index(
    pairs: Pairs,
    kind: pa.DataType,
    *,
    segments: int,
    files: int = FILES,
    held: int = 300,
    definition: IndexDefinition = DEFINITION,
    records: int = 1,
) -> IndexReader:
    """Store pairs as several segments of tiny row groups."""
    store = IndexStore(open_storage(f"memory://reader-{next(_numbers)}"))
    table = pa.table(
        {
            "path": [str(n) for n in range(files)],
            "size": [1] * files,
            "records": [records] * files,
            "has_null": [False] * files,
            "has_value": [True] * files,
        }
    )
    catalogue = catalogue_id(table.column("path"))
    entries: dict[str, SegmentEntry] = {}
    for number in range(segments):
        held_pairs = [pair for pair in pairs if hash(pair) % segments == number]
        if not held_pairs:
            continue
        blocks = build_blocks(
            *sort_pairs(
                pa.array([key for key, _ in held_pairs], kind),
                np.array([unit for _, unit in held_pairs], np.int32),
            )
        )
        data, entry = encode_segment(blocks, unit_count=files, catalogue=catalogue, group_blocks=2)
        store.storage.replace(entry.path, data)
        entries[entry.path] = entry
    result = tuple(entries.values())
    staged = stage_catalogue(store.storage, table, segments=result, definition=definition)
    snapshot = store.create(
        definition,
        Changes(operation="create", add_catalogues=(staged,), add_segments=result),
    )
    return IndexReader(store, snapshot, BlockCache(limit=held))


def _units(found: dict[str, np.ndarray] | None) -> set[int]:
    assert found is not None
    return {int(unit) for units in found.values() for unit in units}


def _found(reader: IndexReader, intervals: Iterable[tuple[Any, Any]]) -> set[int]:
    result = list(intervals)
    found = _units(reader.lookup(result))
    if len(result) == 1:
        # it may take a shorter way
        assert found == _units(reader.lookup(result, most_row_groups=1 << 30))
    return found


def _check(pairs: Pairs, probes: list[Any], kind: pa.DataType, after: Callable[[Any], Any]) -> None:
    reader = _index(pairs, kind, segments=2)
    for probe in probes:
        exact = {unit for key, unit in pairs if key == probe}
        assert exact <= _found(reader, [(probe, after(probe))])
    for low, high in zip(sorted(probes), sorted(probes)[1:], strict=False):
        if low < high:
            inside = {unit for key, unit in pairs if low <= key < high}
            assert inside <= _found(reader, [(low, high)])
            below = {unit for key, unit in pairs if key < low}
            assert inside | below <= _found(reader, [(None, high)])
            beyond = {unit for key, unit in pairs if key >= high}
            assert below | beyond <= _found(reader, [(None, low), (high, None)])
    assert _found(reader, [(None, None)]) == {unit for _, unit in pairs}
    assert _found(reader, []) == set()


@given(
    st.lists(st.tuples(integers, st.integers(0, FILES - 1)), min_size=1, max_size=40),
    st.lists(integers, min_size=2, max_size=6),
)
def test_no_unit_of_an_integer_is_missed(pairs: Pairs, probes: list[Any]) -> None:
    """Points, ranges and open ranges find every unit, across segments and row groups."""
    _check(pairs, probes, pa.int64(), lambda key: key + 1)


@given(
    st.lists(st.tuples(strings, st.integers(0, FILES - 1)), min_size=1, max_size=40),
    st.lists(strings, min_size=2, max_size=6),
)
def test_no_unit_of_a_byte_string_is_missed(pairs: Pairs, probes: list[Any]) -> None:
    """The same for byte strings, the empty one among them."""
    _check(pairs, probes, pa.binary(), lambda key: key + b"\x00")


@given(st.lists(st.tuples(integers, st.integers(0, FILES - 1)), min_size=1, max_size=40))
def test_present_keys_are_exact(pairs: Pairs) -> None:
    """In one segment, a present key finds exactly its own units."""
    reader = _index(pairs, pa.int64(), segments=1)

    for key in {key for key, _ in pairs}:
        assert _found(reader, [(key, key + 1)]) == {unit for k, unit in pairs if k == key}


def test_a_look_up_that_reads_too_much_is_declined() -> None:
    """A look-up beyond the limit is declined, for one range and for many points."""
    pairs = [(key, key % FILES) for key in range(20)]
    reader = _index(pairs, pa.int64(), segments=1)

    assert reader.lookup([(None, None)], most_row_groups=9) is None
    assert reader.lookup([(k, k + 1) for k in range(20)], most_row_groups=9) is None
    assert reader.lookup([(None, None)], most_row_groups=10) is not None
    assert reader.lookup([(10, 11)], most_row_groups=1) is not None


def test_large_tables_make_large_look_ups_worth_it() -> None:
    """The default limit of a look-up grows with the number of data files."""
    keys = range(4 * FEW_ROW_GROUPS)
    pairs = [(key, key % FILES) for key in keys]
    result = [(key, key + 1) for key in keys[::2]]

    assert _index(pairs, pa.int64(), segments=1).lookup(result) is None
    found = _index(pairs, pa.int64(), segments=1, files=FEW_ROW_GROUPS).lookup(result)
    assert found is not None
    assert [units.tolist() for units in found.values()] == [list(range(FILES))]


def test_large_files_make_large_look_ups_worth_it() -> None:
    """The limit grows with the number of row blocks, too: a few large files have many blocks."""
    keys = range(4 * FEW_ROW_GROUPS)
    pairs = [(key, key % FILES) for key in keys]
    result = [(key, key + 1) for key in keys[::2]]
    blocks = replace(DEFINITION, rows_per_block=10)

    few = _index(pairs, pa.int64(), segments=1, definition=blocks, records=9)
    assert few.lookup(result) is None
    many = _index(pairs, pa.int64(), segments=1, definition=blocks, records=10 * FEW_ROW_GROUPS)
    assert many.lookup(result) is not None


def test_many_row_groups_are_fetched_at_once() -> None:
    """Row groups are fetched in far fewer requests, and cached ones are not fetched again."""
    pairs = [(key, key % FILES) for key in range(400)]
    reader = _index(pairs, pa.int64(), segments=1, held=1 << 20)
    result = [(key, key + 1) for key in range(0, 400, 2)]
    counted = {
        name: mock.patch.object(Storage, name, autospec=True, side_effect=getattr(Storage, name))
        for name in ("get_range", "get_ranges")
    }
    with counted["get_range"] as one, counted["get_ranges"] as many:
        first = reader.lookup(result)
        # the footer is one
        assert (one.call_count, 1 < many.call_count <= 5) == (1, True)
        many.reset_mock()
        second = reader.lookup(result)
        assert (one.call_count, many.call_count) == (1, 0)

    assert first is not None
    assert second is not None
    for catalogue, units in first.items():
        assert set(units) == set(second[catalogue]) == set(range(FILES))


def test_keys_of_every_file_are_not_looked_up_to_the_end() -> None:
    """A sample of the row groups shows if nothing would be skipped; a few files stay exact."""
    files, keys = FEW_ROW_GROUPS // 8, FEW_ROW_GROUPS - 99
    pairs = [(key, key * 7919 % files) for key in range(keys)]
    reader = _index(pairs, pa.int64(), segments=3, files=files, held=1 << 20)
    read = Storage.get_ranges

    with mock.patch.object(Storage, "get_ranges", autospec=True, side_effect=read) as fetched:
        assert len(_found(reader, [(key, key + 1) for key in range(keys)])) == files
    groups = [len(call.args[2]) for call in fetched.call_args_list]
    assert 0 < sum(groups) < keys // 4
    few = [key for key, unit in pairs if unit < FILES]
    around = sorted({key + step for key in few for step in range(-9, 9)} & set(range(keys)))
    result = [(key, key + 1) for key in around]
    assert _found(reader, result) == {dict(pairs)[key] for key in around}


@given(
    pairs=st.lists(st.tuples(strings, st.integers(0, FILES - 1)), min_size=1),
    probes=st.lists(strings, min_size=1),
)
def test_spans_find_all_files_of_their_keys(
    pairs: list[tuple[bytes, int]], probes: list[bytes]
) -> None:
    """Each of many ranges gets all of its files, across row groups and overlapping segments."""
    reader = _index(pairs, pa.binary(), segments=2)
    ranges: list[tuple[bytes, bytes]] = []
    for probe in sorted(set(probes), key=lambda probe: probe + b"\x01"):
        low, high = probe + b"\x01", probe + b"\x02"
        # both bounds ascend: a range within the one before it is left out
        if not ranges or high > ranges[-1][1]:
            ranges.append((low, high))
    lows, highs = map(list, zip(*ranges, strict=True))
    pairs = [(key, unit) for key, unit in pairs if key not in highs]
    found: set[tuple[int, int]] = set()
    for which, ordinals in reader.spans(
        pa.array(lows, pa.binary()), pa.array(highs, pa.binary())
    ).values():
        result = list(zip(which.tolist(), ordinals.tolist(), strict=True))
        assert len(result) == len(set(result))
        found.update(result)
    for at, (low, high) in enumerate(ranges):
        assert {unit for key, unit in pairs if low <= key < high} <= {
            u for a, u in found if a == at
        }


@given(
    pairs=st.lists(st.tuples(integers, st.integers(0, FILES - 1)), min_size=1),
    probes=st.lists(integers | st.integers(-(2**100), 2**100), min_size=1),
)
def test_wide_codes_find_narrow_keys(pairs: list[tuple[int, int]], probes: list[int]) -> None:
    """Decimals of many digits are found in an index on fewer digits."""
    reader = _index(pairs, pa.int64(), segments=2)
    result = sorted({*probes, pairs[0][0]})
    found = reader.points(pa.array([wide_code(key) for key in result], pa.binary()))
    expected = {
        (result[at], unit)
        for which, ordinals in found.values()
        for at, unit in zip(which.tolist(), ordinals.tolist(), strict=True)
    }
    assert {pair for pair in pairs if pair[0] in result} <= expected
    assert all(-(2**63) <= key < 2**63 for key, _ in expected)
