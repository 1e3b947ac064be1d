"""The rows for which a predicate is true, against a slow evaluator of single rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import given
from hypothesis import strategies as st
from tests.predicate.drawn import COLUMNS, expressions, integers, rows, strings
from tests.predicate.row_evaluator import accepts

from lakesieve.predicate import (
    AllOf,
    AlwaysFalse,
    AlwaysTrue,
    AnyOf,
    ColumnRanges,
    ElementRanges,
    EntryRows,
    KeysWith,
    Ranges,
    RowFilter,
    bind,
    rows_where,
)
from lakesieve.predicate.expression import And, Constant, In, Literal, Not, Or, Unknown

if TYPE_CHECKING:
    from lakesieve.predicate.expression import Expr

Code = Any
"""An integer or bytes."""
Pairs = list[tuple[Code, Code]]
Row = dict[tuple[str, ...], Code]

FIELDS = {column.field_id: path for path, column in COLUMNS.items()}


def holds(row_filter: RowFilter, row: Row) -> bool:
    """Return whether a row belongs to a set of rows."""
    match row_filter:
        case ColumnRanges():
            return row_filter.ranges.contains(row[FIELDS[row_filter.field_id]])
        case AllOf():
            return all(holds(arg, row) for arg in row_filter.args)
        case AnyOf():
            return any(holds(arg, row) for arg in row_filter.args)
        case AlwaysTrue():
            return True
        case AlwaysFalse():
            return False
        case ElementRanges() | EntryRows() | KeysWith():
            raise AssertionError("columns have no elements")


@given(expressions(), st.lists(rows, min_size=1, max_size=20))
def test_truth_is_exactly_what_a_row_by_row_evaluation_accepts(
    expr: Expr, drawn: list[Row]
) -> None:
    """Without unknown parts the set of true rows is neither too small nor too large."""
    row_filter = rows_where(bind(expr, COLUMNS, strict=False))

    for row in drawn:
        # conditions on one column are merged exactly; across columns AND and OR are sets
        assert holds(row_filter, row) == (accepts(expr, row) is True)


@given(expressions(unknown=True), st.lists(rows, min_size=1, max_size=10), st.data())
def test_unknown_parts_never_lose_a_row(expr: Expr, drawn: list[Row], data: st.DataObject) -> None:
    """Whatever the unknown parts are, every accepted row is in the set."""
    row_filter = rows_where(bind(expr, COLUMNS, strict=False))

    def settled(node: Expr) -> Expr:
        match node:
            case Unknown():
                return Constant(value=data.draw(st.sampled_from([True, False, None])))
            case Not():
                return Not(arg=settled(node.arg))
            case And() | Or():
                return type(node)(args=tuple(settled(arg) for arg in node.args))
        return node

    for row in drawn:
        if accepts(settled(expr), row) is True:
            assert holds(row_filter, row)


@given(st.lists(st.tuples(integers, integers), max_size=6), integers)
def test_ranges_are_sets_of_integers(pairs: Pairs, probe: Code) -> None:
    """Union, intersection and complement of integer ranges agree with membership."""
    _check_sets(pairs, probe)


@given(st.lists(st.tuples(strings, strings), max_size=6), strings)
def test_ranges_are_sets_of_bytes(pairs: Pairs, probe: Code) -> None:
    """Union, intersection and complement of byte ranges agree with membership."""
    _check_sets(pairs, probe)


def _check_sets(pairs: Pairs, probe: Code) -> None:
    half = len(pairs) // 2
    one, two = Ranges.of(pairs[:half]), Ranges.of(pairs[half:], nulls=True)
    in_one = any(low <= probe < high for low, high in pairs[:half])
    in_two = any(low <= probe < high for low, high in pairs[half:])

    assert one.contains(probe) == in_one
    assert one.union(two).contains(probe) == (in_one or in_two)
    assert one.intersect(two).contains(probe) == (in_one and in_two)
    assert one.complement(nulls=True).contains(probe) == (not in_one)
    assert one.complement(nulls=False).complement(nulls=False).intervals == one.intervals
    assert one.union(two).contains(None) is True
    assert one.intersect(two).contains(None) is False
    ends: list[Code] = [e for low, high in one.union(two).intervals for e in (low, high)]
    assert ends == sorted(set(ends))


@given(strings, strings)
def test_prefix_ranges(prefix: bytes, text: bytes) -> None:
    """A prefix range holds exactly the strings that begin with it, 0xff included."""
    assert Ranges.prefix(prefix).contains(text) == text.startswith(prefix)


def test_a_hundred_thousand_values_bind_quickly() -> None:
    """A long IN list becomes one set of ranges in which neighbouring values are joined."""
    values = tuple(Literal(kind="integer", value=n * 2) for n in range(100_000))
    row_filter = rows_where(bind(In(column=("i",), values=values), COLUMNS, strict=False))

    assert isinstance(row_filter, ColumnRanges)
    assert len(row_filter.ranges.intervals) == 100_000
