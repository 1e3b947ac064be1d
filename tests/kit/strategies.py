"""Hypothesis strategies for keys of every kind, extremes first."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from hypothesis import strategies as st

from lakesieve.sieve import HIGHEST, LOWEST, KeyType

if TYPE_CHECKING:
    from collections.abc import Collection

Code = Any
"""An integer or bytes, as the physical type of the keys says."""
Interval = tuple[Code, Code]


_SIGNED = ("int8", "int16", "int32", "int64")

# words of the byte order are eight bytes: texts that differ within, at and far behind one
_TEXTS = (
    b"",
    b"\0",
    b"\0" * 8,
    b"\0" * 9,
    b"a",
    b"a\0",
    b"a" * 8,
    b"a" * 9,
    b"a" * 70,
    b"a" * 70 + b"\0",
    b"a" * 70 + b"b",
    "é".encode(),
    "\U0001f600".encode(),
    b"\x7f",
    b"\x80",
    b"\xff",
    b"\xff" * 40,
    b"x" * 5_000,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyColumn:
    """A column to index.

    Args:
        key_type: Type of its keys.
        values: Its values as Arrow holds them, nulls among them.
    """

    key_type: KeyType
    values: pa.Array


def codes(physical: str) -> st.SearchStrategy[Any]:
    """Key codes: few and close together, so that they repeat, or anywhere, or at the limits.

    Args:
        physical: ``int64`` or ``bytes``.
    """
    if physical == "bytes":
        return st.one_of(
            st.sampled_from(_TEXTS),
            st.binary(max_size=3),
            st.text("ab\0", max_size=40).map(str.encode),
            st.text(max_size=12).map(str.encode),
        )
    return st.one_of(
        st.integers(-8, 8),
        st.sampled_from([LOWEST, LOWEST + 1, -1, 0, HIGHEST - 1, HIGHEST]),
        st.integers(LOWEST, HIGHEST),
    )


def ordinals() -> st.SearchStrategy[int]:
    """Units: a handful, so that sets repeat, and the greatest there can be."""
    return st.one_of(st.integers(0, 4), st.integers(0, 4), st.sampled_from([1_000, 2**31 - 1]))


@st.composite
def key_sets(draw: st.DrawFn, physical: str, *, min_size: int = 0) -> dict[Code, set[int]]:
    """Units by key: neighbours often share a set, and one key may be in every unit.

    Args:
        draw: Hypothesis.
        physical: ``int64`` or ``bytes``.
        min_size: Least number of keys.
    """
    keys = draw(st.lists(codes(physical), min_size=min_size, max_size=40, unique=True))
    few = draw(st.lists(st.sets(ordinals(), min_size=1, max_size=6), min_size=1, max_size=4))
    # half of the keys have a unit of their own, so that an answer tells which blocks were read
    sets = {
        key: set(draw(st.sampled_from(few))) | ({10_000 + at} if draw(st.booleans()) else set())
        for at, key in enumerate(keys)
    }
    spread = draw(st.booleans())
    if keys and spread:
        sets[draw(st.sampled_from(keys))] = set(range(200))
    return sets


@st.composite
def intervals(
    draw: st.DrawFn, physical: str, *, near: Collection[Code] = (), max_size: int = 4
) -> list[Interval]:
    """Half-open intervals of codes: sorted, disjoint and not empty, the outer ends often open.

    Args:
        draw: Hypothesis.
        physical: ``int64`` or ``bytes``.
        near: Keys that bounds often fall on.
        max_size: Greatest number of intervals.
    """
    # the excluded end of the highest integer is one above all codes
    extra = st.nothing() if physical == "bytes" else st.just(HIGHEST + 1)
    bound = st.one_of(
        st.sampled_from(sorted(near)) if near else st.nothing(), codes(physical), extra
    )
    bounds = draw(st.lists(bound, max_size=2 * max_size, unique=True).map(sorted))
    found: list[Interval] = list(zip(bounds[::2], bounds[1::2], strict=False))
    open_start, open_end = draw(st.booleans()), draw(st.booleans())
    if found and open_start:
        found[0] = (None, found[0][1])
    if found and open_end:
        found[-1] = (found[-1][0], None)
    return found


@st.composite
def key_columns(draw: st.DrawFn, kind: str) -> KeyColumn:
    """Columns of every Arrow type that a kind of key can have, sliced out of longer ones.

    Args:
        draw: Hypothesis.
        kind: One of ``lakesieve.sieve.KINDS``.
    """
    scale = precision = 18
    if kind == "decimal":
        precision = draw(st.sampled_from([18, 38]))
        scale = draw(st.integers(0, precision))
    key_type = KeyType(kind=kind, scale=scale if kind == "decimal" else 0, precision=precision)
    found, values = draw(_typed(key_type))
    array = pa.array(draw(st.lists(st.none() | values, max_size=20)), found)
    start = draw(st.integers(0, len(array)))
    end = draw(st.integers(start, len(array)))
    return KeyColumn(key_type=key_type, values=array[start:end])


_SPECIAL = (0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 5e-324, -5e-324, 1.0)


def _typed(key_type: KeyType) -> st.SearchStrategy[tuple[pa.DataType, Any]]:
    """Arrow types of a kind, each with a strategy for its Python values."""
    kind = key_type.kind
    if kind == "integer":
        signed = [(t, 2 ** (t.bit_width - 1)) for t in map(pa.type_for_alias, _SIGNED)]
        return st.sampled_from(
            [
                (t, st.integers(-end, end - 1) | st.sampled_from([-end, end - 1]))
                for t, end in signed
            ]
        )
    if kind == "boolean":
        return st.just((pa.bool_(), st.booleans()))
    if kind == "float":
        special = st.sampled_from(_SPECIAL)
        return st.sampled_from(
            [
                (pa.float64(), st.floats() | special),
                (pa.float32(), st.floats(width=32) | special),
            ]
        )
    if kind in {"timestamp_ns", "timestamp_ntz_ns"}:
        zone = None if kind == "timestamp_ntz_ns" else "UTC"
        return st.just((pa.timestamp("ns", tz=zone), st.integers(-(2**63) + 1, 2**63 - 1)))
    if kind == "date":
        return st.just((pa.date32(), st.dates() | st.sampled_from([dt.date.min, dt.date.max])))
    if kind == "timestamp":
        zoned = st.datetimes(timezones=st.just(dt.UTC))
        return st.just((pa.timestamp("us", tz="UTC"), zoned))
    if kind == "timestamp_ntz":
        return st.just((pa.timestamp("us"), st.datetimes()))
    if kind == "decimal":
        digits, scale = key_type.precision, key_type.scale
        end = 10**digits - 1
        unscaled = st.integers(-end, end) | st.sampled_from([-end, -1, 0, 1, end])
        return st.just((pa.decimal128(digits, scale), unscaled.map(lambda n: _decimal(n, scale))))
    texts, raw = st.text(max_size=12), codes("bytes")
    binaries = [(pa.binary(), raw), (pa.large_binary(), raw)]
    if kind == "binary":
        fixed = (pa.binary(16), st.binary(min_size=16, max_size=16))
        return st.sampled_from([*binaries, fixed])
    return st.sampled_from([*binaries, (pa.string(), texts), (pa.large_string(), texts)])


def _decimal(unscaled: int, scale: int) -> Decimal:
    # not by arithmetic, which rounds to the context's 28 digits
    return Decimal((int(unscaled < 0), tuple(map(int, str(abs(unscaled)))), -scale))
