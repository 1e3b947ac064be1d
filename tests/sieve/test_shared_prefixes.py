"""Keys of a hierarchy, coded with shared prefixes, are found like any others."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kit.strategies import codes
from tests.sieve.arrays import arrays_of, pairs_of, units_of

from lakesieve.format import decode_footer, decode_row_group, encode_segment
from lakesieve.sieve import (
    Blocks,
    RangeSet,
    build_blocks,
    lookup_ranges,
    merge_blocks,
    shared_prefixes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

# more positions of more letters than 63 bits hold
HEADS = [
    b"".join(bytes([97 + (at * step + first) % 26]) for at in range(40))
    for first, step in itertools.product(range(3), (1, 3, 5))
]
UNITS = 6


@pytest.fixture(scope="module", autouse=True)
def _any_prefixes() -> Iterator[None]:
    """Let prefixes be used even for a few keys."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_prefixes, "KEYS_PER_PREFIX", 1)
        yield


paths = st.builds(
    lambda head, page, tail: head + page + b"/" + tail,
    st.sampled_from(HEADS),
    st.sampled_from([b"", b"-", b"0", b"a", b"\xff", b"\0"]),
    st.integers(0, 40).map(lambda number: b"%d" % number) | st.just(b""),
)
sets = st.dictionaries(paths, st.sets(st.integers(0, UNITS - 1), min_size=1), min_size=1)
others = paths | codes("bytes") | paths.map(lambda path: path[:41]) | paths.map(lambda p: p + b"/")


def _blocks(content: dict[bytes, set[int]]) -> Blocks:
    return build_blocks(*arrays_of(pairs_of(content), "bytes"))


def _between(content: dict[bytes, set[int]], low: Any, high: Any) -> set[int]:
    inside = (
        units
        for key, units in content.items()
        if (low is None or low <= key) and (high is None or key < high)
    )
    return set().union(*inside)


@given(sets, st.lists(st.tuples(st.none() | others, st.none() | others), max_size=40))
def test_stored_keys_of_a_hierarchy_are_found(
    content: dict[bytes, set[int]], intervals: list[tuple[bytes | None, bytes | None]]
) -> None:
    """After a write and a read, points are exact, and ranges find no more than the blocks."""
    blocks = _blocks(content)
    data, entry = encode_segment(blocks, unit_count=UNITS)
    footer = decode_footer(data[len(data) - entry.footer_length :], entry)
    group = footer.groups[0]
    read = decode_row_group(footer, 0, data[group.start : group.start + group.length])

    assert read.text == blocks.text
    assert units_of(read, content) == content
    for low, high in intervals:
        ranges = RangeSet.from_intervals([(low, high)], "bytes", read.text)
        assert set(lookup_ranges(read, ranges).tolist()) >= _between(content, low, high)
    sound = [(low, high) for low, high in intervals if high is None or low is None or low < high]
    together = RangeSet.from_intervals(sound, "bytes", read.text)
    assert set(lookup_ranges(read, together).tolist()) >= set().union(
        *(_between(content, low, high) for low, high in sound)
    )


@given(st.lists(sets, min_size=1, max_size=3), st.sets(st.integers(0, UNITS - 1)))
def test_merged_keys_of_a_hierarchy_are_found(
    inputs: list[dict[bytes, set[int]]], dead: set[int]
) -> None:
    """Lists with different prefixes merge into one that knows all keys, without dropped units."""
    new = np.array([-1 if unit in dead else unit for unit in range(UNITS)])
    merged = merge_blocks([_blocks(sets) for sets in inputs], [new] * len(inputs))
    expected: dict[bytes, set[int]] = {}
    for key, units in itertools.chain.from_iterable(sets.items() for sets in inputs):
        expected.setdefault(key, set()).update(units - dead)

    if merged is None:
        assert not any(expected.values())
        return
    merged.validate()
    answers = units_of(merged, expected)
    assert all(answers[key] >= units for key, units in expected.items())
    # one that has lost all its units is an absent key
    assert len(inputs) > 1 or all(answers[key] == units for key, units in expected.items() if units)


@pytest.mark.parametrize("pages", [500, 50_000], ids=["few", "too many"])
def test_hierarchies_are_coded_by_few_prefixes(pages: int) -> None:
    """URLs of a few pages get a code with prefixes, but not if every key has its own page."""
    drawn = np.random.default_rng(5).integers(0, [pages, 10_000_000], (40_000, 2)).tolist()
    # the factor spreads the names of the pages over all digits
    keys = sorted({b"https://%x.net/%d" % (page * 0x9E3779B97F4A7C15, n) for page, n in drawn})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shared_prefixes, "KEYS_PER_PREFIX", 16)
        blocks = build_blocks(pa.array(keys, pa.binary()), np.arange(len(keys), dtype=np.int32) % 7)

    found = None if blocks.text is None else blocks.text.shared_prefixes
    assert (found is None) == (pages > 500)
    assert found is None or len(found.texts) == pages
    assert units_of(blocks, keys[::100]) == {
        key: {at % 7} for at, key in enumerate(keys) if at % 100 == 0
    }
