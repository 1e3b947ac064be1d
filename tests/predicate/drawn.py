"""Draw predicates over columns of several kinds, and rows to try them on."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from lakesieve.predicate import ColumnType
from lakesieve.predicate.expression import (
    And,
    Compare,
    Constant,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    NullSafeEqual,
    Or,
    StartsWith,
    Unknown,
)
from lakesieve.predicate.literals import float_code

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

COLUMNS: dict[tuple[str, ...], ColumnType] = {
    ("i",): ColumnType(field_id=1, kind="integer"),
    ("s",): ColumnType(field_id=2, kind="string"),
    ("b",): ColumnType(field_id=3, kind="boolean"),
    ("x",): ColumnType(field_id=4, kind="float"),
    ("w",): ColumnType(field_id=5, kind="decimal", scale=10, precision=38),
    ("y",): ColumnType(field_id=6, kind="binary"),
}
LOWEST, HIGHEST = -(2**63), 2**63 - 1

integers = st.integers(-4, 4) | st.sampled_from([LOWEST, LOWEST + 1, HIGHEST - 1, HIGHEST])
strings = st.binary(max_size=3) | st.sampled_from(
    [b"", b"\x00", b"a", b"a\x00", b"ab", b"\xff", b"\xff\xff", b"a\xff", "ü".encode()]
)
floats = st.sampled_from(
    [-math.inf, -1.5, -5e-324, -0.0, 0.0, 5e-324, 1.5, 1e308, math.inf, math.nan]
)
unscaled = integers | st.sampled_from([1 - 10**38, 10**38 - 1])
VALUES = {
    "i": integers,
    "s": strings,
    "b": st.booleans(),
    "x": floats.map(float_code),
    "w": unscaled,
    "y": strings,
}
rows = st.fixed_dictionaries({(name,): st.none() | codes for name, codes in VALUES.items()})


def _literals(column: str) -> SearchStrategy[Literal]:
    kind, scale = COLUMNS[column,].kind, COLUMNS[column,].scale
    return st.builds(Literal, kind=st.just(kind), value=VALUES[column], scale=st.just(scale))


def _leaves(column: str) -> SearchStrategy[Expr]:
    path, literal = st.just((column,)), _literals(column)
    leaves: SearchStrategy[Expr] = st.one_of(
        st.builds(
            Compare, column=path, op=st.sampled_from(["=", "<", "<=", ">", ">="]), value=literal
        ),
        st.builds(
            In,
            column=path,
            values=st.lists(literal, max_size=4).map(tuple),
            has_null=st.booleans(),
        ),
        st.builds(IsNull, column=path),
        st.builds(NullSafeEqual, column=path, value=st.none() | literal),
    )
    if column == "s":
        leaves |= st.builds(StartsWith, column=path, prefix=strings)
    return leaves


constants = st.builds(Constant, value=st.sampled_from([True, False, None]))


def expressions(*, unknown: bool = False) -> SearchStrategy[Expr]:
    """Predicates of any shape, with or without unknown parts."""
    leaves: SearchStrategy[Expr] = st.one_of(*map(_leaves, VALUES)) | constants
    if unknown:
        leaves |= st.builds(Unknown, text=st.just("?"))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Not, arg=inner),
            st.builds(And, args=st.lists(inner, max_size=3).map(tuple)),
            st.builds(Or, args=st.lists(inner, max_size=3).map(tuple)),
        ),
        max_leaves=8,
    )
