"""Predicates over composite keys agree with a slow evaluation of predicates over columns."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.predicate.drawn import COLUMNS, VALUES, expressions, integers, rows
from tests.predicate.row_evaluator import accepts

from lakesieve.format import IndexKey, KeyColumn, KeyExpression, SourceColumn
from lakesieve.index import UsableIndex, on_keys
from lakesieve.predicate import (
    AllOf,
    AlwaysFalse,
    AlwaysTrue,
    AnyOf,
    ColumnRanges,
    ElementRanges,
    Ranges,
    RowFilter,
    all_of,
    any_of,
    bind,
    rows_where,
)
from lakesieve.predicate.parse import parse_sql
from lakesieve.sieve import component_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.predicate.expression import Expr

Row = dict[tuple[str, ...], int | bytes | None]
PAST_INT64 = 2**63
NULL = component_code("integer", None)


def usable(names: Sequence[str], *, left: int = 8) -> UsableIndex:
    """Return an index on some columns, of which the table has only the first few."""
    columns = tuple(
        KeyColumn(
            field_id=COLUMNS[name,].field_id,
            name=name,
            type="",
            key_kind=COLUMNS[name,].kind,
            scale=COLUMNS[name,].scale,
        )
        for name in names
    )
    index = SimpleNamespace(definition=SimpleNamespace(columns=columns, key_of_many=None))
    return UsableIndex(index=index, columns=columns[:left])  # type: ignore[arg-type]


def key_of(index: UsableIndex, row: Row) -> int | bytes | None:
    """Return the key that an index has for a row."""
    columns = index.index.definition.columns
    if len(columns) == 1:
        return row[columns[0].name,]
    return b"".join(component_code(column.key_kind, row[column.name,]) for column in columns)


def holds(row_filter: RowFilter, indexes: Sequence[UsableIndex], row: Row) -> bool:
    """Return whether a row belongs to rows that are given by their keys."""
    match row_filter:
        case ColumnRanges():
            return row_filter.ranges.contains(key_of(indexes[row_filter.field_id], row))
        case AllOf():
            return all(holds(arg, indexes, row) for arg in row_filter.args)
        case AnyOf():
            return any(holds(arg, indexes, row) for arg in row_filter.args)
        case _:
            return isinstance(row_filter, AlwaysTrue)


@st.composite
def index_lists(draw: st.DrawFn) -> list[UsableIndex]:
    """Draw a few indexes on one to four columns in any order, some of them dropped since."""
    column_names = st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4, unique=True)
    return [
        usable(names, left=draw(st.integers(1, len(names))))
        for names in draw(st.lists(column_names, min_size=1, max_size=3))
    ]


@given(expressions(), index_lists(), st.lists(rows, min_size=1, max_size=20), st.integers(0, 12))
def test_no_accepted_row_is_lost(
    expr: Expr, indexes: list[UsableIndex], drawn: list[Row], most_ranges: int
) -> None:
    """Whatever the predicate, the indexes and the limit on ranges, no matching row is lost."""
    rows = rows_where(bind(expr, COLUMNS, strict=False))
    row_filter = on_keys(rows, indexes, most_ranges=most_ranges)

    for row in drawn:
        if accepts(expr, row) is True:
            assert holds(row_filter, indexes, row)


def sets_of(name: str) -> st.SearchStrategy[Ranges]:
    return st.builds(
        lambda codes, nulls: Ranges.points(codes).union(Ranges(nulls=nulls)),
        st.lists(VALUES[name].map(lambda v: int(v) if isinstance(v, bool) else v), max_size=4),
        st.booleans(),
    )


def ranges_of(name: str) -> st.SearchStrategy[Ranges]:
    bound = st.none() | VALUES[name] | (st.just(PAST_INT64) if name == "i" else st.nothing())
    return st.builds(Ranges.of, st.lists(st.tuples(bound, bound), max_size=3), nulls=st.booleans())


@given(
    sets_of("i"),
    sets_of("s"),
    st.one_of(sets_of("w"), ranges_of("w")),
    st.lists(rows, min_size=1, max_size=20),
)
def test_points_and_then_ranges_are_answered_exactly(
    one: Ranges, two: Ranges, last: Ranges, drawn: list[Row]
) -> None:
    """Values on the leading columns and ranges on the next column give exactly their rows."""
    result = {("i",): one, ("s",): two, ("w",): last}
    indexes = [usable(["i", "s", "w", "y"])]
    row_filter = on_keys(
        all_of(
            [ColumnRanges(field_id=COLUMNS[path].field_id, ranges=r) for path, r in result.items()]
        ),
        indexes,
    )

    for row in drawn:
        expected = all(ranges.contains(row[path]) for path, ranges in result.items())
        # all that is known of a column may be that it is no null
        if not any(ranges.intervals == ((None, None),) for ranges in result.values()):
            assert holds(row_filter, indexes, row) == expected


def test_texts_that_follow_each_other_are_single_values() -> None:
    """A range of strings that contains only a few strings is listed one by one."""
    texts = [b"a", b"a\0", b"a\0\0", b"b"]
    result = [
        ColumnRanges(field_id=2, ranges=Ranges.points(texts)),
        ColumnRanges(field_id=1, ranges=Ranges.points([5])),
    ]
    expected = [
        (component_code("string", text) + i_s(5), component_code("string", text) + i_s(6))
        for text in texts
    ]

    row_filter = on_keys(all_of(result), [usable(["s", "i"])])

    assert row_filter == ColumnRanges(field_id=0, ranges=Ranges.of(expected))


@given(ranges_of("i"), st.lists(rows, min_size=1, max_size=20))
def test_ranges_of_the_first_column_are_answered_exactly(ranges: Ranges, drawn: list[Row]) -> None:
    """A condition on the first column gives exactly its rows, even with bounds beyond int64."""
    indexes = [usable(["i", "s"])]
    row_filter = on_keys(all_of([ColumnRanges(field_id=1, ranges=ranges)]), indexes)

    for row in drawn:
        if ranges.intervals != ((None, None),):
            assert holds(row_filter, indexes, row) == ranges.contains(row["i",])


def of_text(text: str, *indexes: UsableIndex, most_ranges: int = 10_000) -> RowFilter:
    row_filter = rows_where(bind(parse_sql(text), COLUMNS, strict=True))
    return on_keys(row_filter, indexes, most_ranges=most_ranges)


def i_s(number: int, text: bytes = b"") -> bytes:
    return component_code("integer", number) + (component_code("string", text) if text else b"")


@pytest.mark.parametrize(
    ("text", "intervals"),
    [
        ("i = 5", [(i_s(5), i_s(6))]),
        ("i = 5 AND s = 'a'", [(i_s(5, b"a"), i_s(5, b"a\0"))]),
        (
            "(i = 5 AND s = 'a') OR (i = 7 AND s = 'b')",
            [(i_s(5, b"a"), i_s(5, b"a\0")), (i_s(7, b"b"), i_s(7, b"b\0"))],
        ),
        ("i = 5 AND s >= 'b'", [(i_s(5, b"b"), i_s(5) + b"\2")]),
        ("i = 5 AND s IS NULL", [(i_s(5) + b"\0", i_s(5) + b"\1")]),
        ("i IS NULL AND s < 'b'", [(NULL + b"\1", NULL + component_code("string", b"b"))]),
        (
            "i BETWEEN 5 AND 6 AND s LIKE 'b%'",
            [(i_s(n, b"b"), i_s(n, b"c")) for n in (5, 6)],
        ),
        (
            "i = 5 AND (s = 'a' OR s = 'c' AND b)",
            [(i_s(5, b"a"), i_s(5, b"a\0")), (i_s(5, b"c"), i_s(5, b"c\0"))],
        ),
        ("i > 5 AND s = 'a'", [(i_s(6), b"\2")]),
        ("i BETWEEN -9223372036854775808 AND 5 AND s = 'a'", [(i_s(-(2**63)), i_s(6))]),
        ("i = 5 AND b AND s IS NOT NULL", [(i_s(5) + b"\1", i_s(5) + b"\2")]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_conditions_become_intervals(text: str, intervals: list[tuple[bytes, bytes]]) -> None:
    """Conditions on leading columns become one set of key intervals, across AND and OR."""
    index = usable(["i", "s"])
    row_filter = of_text(text, index)
    # what stands outside the nested OR counts as well, and holds more
    leaf = row_filter.args[-1] if isinstance(row_filter, AllOf) else row_filter

    assert leaf == ColumnRanges(field_id=0, ranges=Ranges.of(intervals))


@pytest.mark.parametrize(
    "text",
    ["s = 'a'", "i = 5 OR s = 'a'", "i IS NOT NULL", "i IS NOT NULL AND s = 'a'", "x = 1"],
)
def test_conditions_that_tell_nothing_of_the_first_column(text: str) -> None:
    """Without a condition on the first column, the index is not used."""
    assert of_text(text, usable(["i", "s"])) == AlwaysTrue()


def test_several_indexes_answer_together() -> None:
    """Every index whose first column has a condition is used, and no other."""
    indexes = [usable(["i"]), usable(["i", "s"]), usable(["s"]), usable(["b", "i"])]
    row_filter = of_text("i = 5 AND s = 'a'", *indexes)

    assert isinstance(row_filter, AllOf)
    assert [arg.field_id for arg in row_filter.args if isinstance(arg, ColumnRanges)] == [0, 1, 2]


def test_an_impossible_condition_is_no_row() -> None:
    """Contradicting conditions match nothing."""
    indexes = [usable(["i", "s"])]

    assert on_keys(AlwaysFalse(), indexes) == AlwaysFalse()
    beyond = ColumnRanges(field_id=1, ranges=Ranges.of([(PAST_INT64, None)]))
    assert on_keys(beyond, indexes) == AlwaysFalse()


def test_what_is_left_of_a_composite_index_has_composite_keys() -> None:
    """If its other columns were dropped, a composite index answers its first column by prefixes."""
    row_filter = of_text("i = 5 AND s = 'a'", usable(["i", "s"], left=1))

    assert row_filter == ColumnRanges(field_id=0, ranges=Ranges.of([(i_s(5), i_s(6))]))


def test_products_of_values_are_bounded() -> None:
    """Beyond the limit, columns after the first few are left out."""
    numbers = ", ".join(str(n) for n in range(0, 2000, 2))
    text = f"i IN ({numbers}) AND s IN ({', '.join(repr(str(n)) for n in range(100))})"
    every = of_text(text, usable(["i", "s"]), most_ranges=100_000)
    column_names = of_text(text, usable(["i", "s"]))

    assert isinstance(every, ColumnRanges)
    assert len(every.ranges.intervals) == 100_000
    assert column_names == ColumnRanges(
        field_id=0, ranges=Ranges.of([(i_s(n), i_s(n + 1)) for n in range(0, 2000, 2)])
    )


def test_bounds_hold_for_the_whole_predicate() -> None:
    """A long list outside an OR of many branches is not repeated in each branch."""
    numbers = ", ".join(str(n) for n in range(0, 40_000, 2))
    branches = " OR ".join(f"(s = 's{n}' AND b)" for n in range(200))
    row_filter = of_text(f"i IN ({numbers}) AND ({branches})", usable(["i", "s"]))

    assert isinstance(row_filter, ColumnRanges)
    assert len(row_filter.ranges.intervals) == 20_000


def test_many_pairs_are_one_look_up() -> None:
    """Thousands of pairs, under OR or as lists, become one set of intervals."""
    pairs = " OR ".join(f"(i = {n} AND s = 's{n}')" for n in range(3_000))
    row_filter = of_text(pairs, usable(["i", "s"]))
    listed = of_text(
        f"i = 5 AND s IN ({', '.join(repr(str(n)) for n in range(30_000))})", usable(["i", "s"])
    )

    assert isinstance(row_filter, ColumnRanges)
    assert len(row_filter.ranges.intervals) == 3_000
    assert isinstance(listed, ColumnRanges)
    assert len(listed.ranges.intervals) == 30_000


ELEMENTS = 90
"""The field id of the elements of a list of integers."""


def usable_many(names: Sequence[str]) -> UsableIndex:
    """Return an index on some columns and, in the place of ``l``, on the elements of a list."""
    columns = tuple(
        KeyColumn(field_id=ELEMENTS, name="elements(l)", type="", key_kind="integer")
        if name == "l"
        else usable([name]).columns[0]
        for name in names
    )
    source = SourceColumn(field_id=91, name="l", type="array<int>")
    expression = KeyExpression(sql="elements(l)", tree='["elements",', columns=(source,))
    keys = tuple(
        IndexKey(columns=(each,), expression=expression if each.field_id == ELEMENTS else None)
        for each in columns
    )
    many = next(key for key in keys if key.has_many)
    definition = SimpleNamespace(columns=columns, keys=keys, key_of_many=many)
    return UsableIndex(index=SimpleNamespace(definition=definition), columns=columns)  # type: ignore[arg-type]


many_names = st.permutations(["i", "l", "s", "b"]).flatmap(
    lambda names: st.integers(names.index("l") + 1, 4).map(lambda count: names[:count])
)
filters = st.recursive(
    st.one_of(
        *(
            st.builds(ColumnRanges, field_id=st.just(COLUMNS[name,].field_id), ranges=drawn)
            for name in ("i", "s")
            for drawn in (sets_of(name), ranges_of(name))
        ),
        st.builds(
            ElementRanges,
            field_id=st.just(ELEMENTS),
            ranges=st.builds(Ranges.points, st.lists(integers, max_size=3)),
        ),
    ),
    lambda below: (
        st.lists(below, min_size=1, max_size=4).map(all_of)
        | st.lists(below, min_size=1, max_size=3).map(any_of)
    ),
    max_leaves=8,
)
lists = st.none() | st.lists(st.none() | integers, max_size=3)


def meets(row_filter: RowFilter, row: Row, elements: Sequence[int | None]) -> bool:
    """Return whether a row meets conditions on its columns and on its elements."""
    match row_filter:
        case ColumnRanges():
            (name,) = (
                n for (n,), column in COLUMNS.items() if column.field_id == row_filter.field_id
            )
            return row_filter.ranges.contains(row[name,])
        case ElementRanges():
            return any(e is not None and row_filter.ranges.contains(e) for e in elements)
        case AllOf():
            return all(meets(arg, row, elements) for arg in row_filter.args)
        case AnyOf():
            return any(meets(arg, row, elements) for arg in row_filter.args)
        case _:
            return isinstance(row_filter, AlwaysTrue)


def many_hold(
    row_filter: RowFilter, indexes: Sequence[UsableIndex], keys: list[set[bytes]]
) -> bool:
    """Return whether a row with some keys in each index belongs to rows given by their keys."""
    match row_filter:
        case ElementRanges():
            own = keys[row_filter.field_id]
            # an index on elements alone has their codes
            return any(row_filter.ranges.contains(key) for key in own)
        case AllOf():
            return all(many_hold(arg, indexes, keys) for arg in row_filter.args)
        case AnyOf():
            return any(many_hold(arg, indexes, keys) for arg in row_filter.args)
        case _:
            return isinstance(row_filter, AlwaysTrue)


@given(
    filters,
    st.lists(many_names.filter(lambda names: len(names) > 1), min_size=1, max_size=3),
    st.lists(st.tuples(rows, lists), min_size=1, max_size=20),
    st.integers(0, 12),
)
def test_no_row_with_elements_is_lost(
    rows_wanted: RowFilter,
    names: list[list[str]],
    drawn: list[tuple[Row, list[int | None] | None]],
    most_ranges: int,
) -> None:
    """An index on columns and elements loses no row, whatever else the condition says."""
    indexes = [usable_many(each) for each in names]
    row_filter = on_keys(rows_wanted, indexes, most_ranges=most_ranges)

    for row, elements in drawn:
        if not meets(rows_wanted, row, elements or []):
            continue
        keys = [
            {
                b"".join(
                    component_code(c.key_kind, element if c.field_id == ELEMENTS else row[c.name,])
                    for c in index.columns
                )
                for element in elements or []
            }
            for index in indexes
        ]
        assert many_hold(row_filter, indexes, keys)


@pytest.mark.parametrize(
    ("names", "is_used"),
    [(["i", "l"], True), (["l", "i"], True), (["s", "l"], False), (["i", "s", "l"], False)],
)
def test_elements_beside_columns(names: list[str], *, is_used: bool) -> None:
    """The columns before the elements need conditions, and the elements always do."""
    of_elements = ElementRanges(field_id=ELEMENTS, ranges=Ranges.points([7]))
    of_column = ColumnRanges(field_id=COLUMNS["i",].field_id, ranges=Ranges.points([5]))
    index = usable_many(names)

    assert on_keys(of_column, [index]) == AlwaysTrue()
    found = on_keys(all_of([of_column, of_elements]), [index])
    if not is_used:
        assert found == AlwaysTrue()
        return
    codes = {"i": 5, "l": 7}
    stem = component_code("integer", codes[names[0]])
    last = codes[names[1]]
    low, high = (stem + component_code("integer", code) for code in (last, last + 1))
    assert found == ElementRanges(field_id=0, ranges=Ranges.of([(low, high)]))
