"""Sort integers as numpy does."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from lakesieve.sieve.order import ascending_order

LEAST, MOST = -(2**63), 2**63 - 1


def _check(values: np.ndarray) -> None:
    before = values.copy()
    order, ascending = ascending_order(values)
    assert np.array_equal(values, before)
    assert np.array_equal(np.sort(order), np.arange(len(values)))
    assert np.array_equal(ascending, np.sort(values))
    assert np.array_equal(values[order], ascending)
    assert np.array_equal(order, np.argsort(values, kind="stable"))


@given(
    st.lists(
        st.integers(LEAST, MOST) | st.integers(-3, 3) | st.sampled_from([LEAST, MOST]), max_size=60
    ),
)
def test_integers_are_sorted(values: list[int]) -> None:
    """Integers of any range, with duplicates, are sorted."""
    _check(np.array(values, np.int64))


@given(
    runs=st.lists(st.integers(1, 5), min_size=1, max_size=30),
    spread=st.integers(1, 4),
    seed=st.integers(0, 9),
)
def test_integers_alike_in_their_high_bits_are_sorted(
    runs: list[int], spread: int, seed: int
) -> None:
    """Integers are sorted even if many of them share their high bits."""
    random = np.random.default_rng(seed)
    high_bits = random.integers(LEAST >> 8, MOST >> 8, len(runs)) << 8
    values = np.repeat(high_bits, runs) + random.integers(0, spread, sum(runs))
    _check(np.append(random.permutation(values), [LEAST, MOST]))
