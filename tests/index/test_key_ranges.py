"""Ranges of keys that several files hold contain exactly the codes between their bounds."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.depth import depth

from lakesieve.index.key_ranges import KeyRanges

CASES = depth("CASES", test=60, soak=3000)


def _drawn(drawn: random.Random, kind: str) -> list[Any]:
    if kind == "int64":
        near = [drawn.randrange(-30, 30) for _ in range(drawn.randrange(1, 30))]
        return near + drawn.sample([-(2**63), 2**63 - 1, 0], drawn.randrange(3))
    return [bytes(drawn.choices(b"\x00a\xff", k=drawn.randrange(4))) for _ in range(20)]


@pytest.mark.parametrize("kind", ["int64", "binary"])
def test_codes_are_in_the_ranges_that_hold_them(kind: str) -> None:
    """For drawn ranges and codes, including nulls, the result equals a comparison one by one."""
    drawn = random.Random(f"ranges {kind}")
    of_type = pa.int64() if kind == "int64" else pa.binary()
    for _ in range(CASES):
        bounds = sorted(set(_drawn(drawn, kind)))
        bounds = bounds[: len(bounds) // 2 * 2]
        lows, highs = bounds[::2], [*bounds[1::2]]
        if highs and drawn.random() < 0.3:
            highs[-1] = None
        parts = [
            KeyRanges(lows=pa.array([low], of_type), highs=pa.array([high], of_type))
            for low, high in zip(lows, highs, strict=True)
        ]
        drawn.shuffle(parts)
        joined = KeyRanges.joined(parts)
        codes = [*_drawn(drawn, kind), *bounds, None]
        if joined is None:
            assert not parts
            continue
        expected = [
            code is not None
            and any(
                low <= code and (high is None or code < high)
                for low, high in zip(lows, highs, strict=True)
            )
            for code in codes
        ]
        assert joined.holds(pa.array(codes, of_type)).tolist() == expected
        found = joined.buckets()
        assert (found is None) == (kind == "binary")
        if found is not None:
            shift, rows = found
            assert len(rows) <= 4 * len(joined.lows)
            listed = [tuple(row.values()) for row in rows.to_pylist()]
            assert expected == [
                code is not None
                and any(code >> shift == b and low <= code <= high for b, low, high in listed)
                for code in codes
            ]


def test_ranges_of_two_types_are_not_joined() -> None:
    """Codes of a promoted column have two types, so their ranges cannot be joined."""
    words = KeyRanges(lows=pa.array([1]), highs=pa.array([2]))
    texts = KeyRanges(lows=pa.array([b"a"]), highs=pa.array([b"b"]))

    assert KeyRanges.joined([words, texts]) is None
    assert KeyRanges.joined([]) is None
    none = KeyRanges.joined([words, words.__class__(lows=texts.lows[:0], highs=texts.highs[:0])])
    assert none is not None
    assert np.array_equal(none.lows, [1])
