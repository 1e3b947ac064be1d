"""Files that ``find_files`` leaves out of an order hold none of the first rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import depth
from tests.index.drawn_keys import (
    INTEGERS,
    drawn_condition,
    drawn_life,
    table_of,
    values_of,
)

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.index import OpenedIndex, ReasonCode, find
from lakesieve.index.access import without_engine
from lakesieve.index.row_order import RowOrder, given_order
from lakesieve.sieve import KeyType, encode_keys
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from tests.kit.key_table import KeyTable

    from lakesieve.index import FileMatches


def _find(
    table: KeyTable, order: RowOrder, version: int | None = None, predicate: str | None = None
) -> FileMatches:
    access = without_engine()
    store = IndexStore(access.index_storage(table, "k", None))
    opened = OpenedIndex(store, store.snapshot())
    return find(table, [opened], [], predicate, version, access=access, order=order)


def _needed(
    table: KeyTable, key_type: KeyType, order: RowOrder, version: int, condition: str | None
) -> dict[str, list[int]]:
    """Return the positions of the rows that are among the first, ties at the limit included."""
    rows = [
        (path, at, code)
        for path in table.versions[version]
        for at, code in enumerate(encode_keys(key_type, table.files[path]).to_pylist())
        if condition is None or values_of(table, condition).contains(code)
    ]
    values = sorted((code for *_, code in rows if code is not None), reverse=order.descending)
    nulls = [None] * (len(rows) - len(values))
    ordered = [*nulls, *values] if order.nulls_first else [*values, *nulls]
    first: set[Any] = set(ordered[: order.limit])
    needed: dict[str, list[int]] = {}
    for path, at, code in rows:
        if code in first:
            needed.setdefault(path, []).append(at)
    return needed


def _check(
    table: KeyTable,
    key_type: KeyType,
    order: RowOrder,
    uncovered: set[str],
    condition: str | None = None,
) -> None:
    """Check that every version keeps the first rows, and all files that are not indexed."""
    for version, paths in enumerate(table.versions):
        matches = _find(table, order, version, condition)
        if condition is None or not table.has_statistics:
            assert set(matches.paths) >= uncovered & set(paths)
        ranges = dict(zip(matches.paths, matches.row_ranges or [None] * 99, strict=False))
        for path, rows in _needed(table, key_type, order, version, condition).items():
            assert path in ranges, f"{path} is missing at version {version}"
            kept = ranges[path]
            assert kept is None or all(any(a <= at < b for a, b in kept) for at in rows)


@settings(max_examples=depth("FIRST_ROWS", test=60, soak=1500))
@given(data=st.data())
def test_the_first_rows_are_in_the_files(data: st.DataObject) -> None:
    """Whatever is indexed, dropped, added and merged, no row among the first is left out."""
    life = drawn_life(data, budgets=(None, None, None, "1 bits"), always_refreshed=False)
    table, key_type = life.table, life.key_type
    table.has_statistics = data.draw(st.booleans())
    orders = [
        RowOrder(
            column="k",
            descending=data.draw(st.booleans()),
            nulls_first=data.draw(st.booleans()),
            limit=data.draw(st.integers(1, 20)),
        )
        for _ in range(2)
    ]
    condition = drawn_condition(data, table, key_type)

    for order in orders:
        _check(table, key_type, order, life.uncovered)
        _check(table, key_type, order, life.uncovered, condition)

    life.compact(data)
    for order in orders:
        _check(table, key_type, order, life.uncovered)
        _check(table, key_type, order, life.uncovered, condition)


def _scattered() -> KeyTable:
    """Return an indexed table of 50 files, each with keys from the whole range."""
    files = [pa.array(range(start, 5000, 50), pa.int64()) for start in range(50)]
    table = table_of(INTEGERS, files)
    table.versions = [list(table.files)]
    table.create()
    return table


def test_few_files_are_read_where_bounds_overlap() -> None:
    """Where every file has keys near both ends, the first rows still need only their own files."""
    table = _scattered()

    highest = _find(table, RowOrder.parse("k DESC", 3))
    lowest = _find(table, RowOrder.parse("k", 3))

    assert sorted(highest.paths) == ["file:/t/47", "file:/t/48", "file:/t/49"]
    assert sorted(lowest.paths) == ["file:/t/0", "file:/t/1", "file:/t/2"]
    assert highest.reasons[0].code is ReasonCode.FIRST_ROWS


def test_bounds_of_the_format_tell_whole_files() -> None:
    """Where files follow one another in order, one file has all the first rows."""
    files = [pa.array(range(start, start + 1000), pa.int64()) for start in range(0, 9000, 1000)]
    table = table_of(INTEGERS, files)
    table.versions = [list(table.files)]
    table.has_statistics = True
    table.create()

    assert _find(table, RowOrder.parse("k DESC", 100)).paths == ["file:/t/8"]
    assert _find(table, RowOrder.parse("k", 100)).paths == ["file:/t/0"]


def test_nulls_are_rows() -> None:
    """Null comes first or last as the order says: its files are the first, or not needed."""
    files = [pa.array([None, 5], pa.int64()), pa.array([1, 2], pa.int64())]
    table = table_of(INTEGERS, files)
    table.versions = [list(table.files)]
    table.create()

    assert _find(table, RowOrder.parse("k", 1)).paths == ["file:/t/0"]
    assert _find(table, RowOrder.parse("k NULLS LAST", 1)).paths == ["file:/t/1"]
    assert _find(table, RowOrder.parse("k desc nulls first", 1)).paths == ["file:/t/0"]
    assert len(_find(table, RowOrder.parse("k", 4)).paths) == 2


def test_few_files_are_read_below_a_condition() -> None:
    """Only the files of the first rows are left if an index knows all rows of the condition."""
    table = _scattered()

    below = _find(table, RowOrder.parse("k DESC", 3), predicate="k < 1000")

    assert sorted(below.paths) == ["file:/t/47", "file:/t/48", "file:/t/49"]
    assert below.reasons[0].code is ReasonCode.FIRST_ROWS
    assert below.condition == "k BETWEEN 997 AND 999"


def test_all_files_are_kept_with_a_reason() -> None:
    """An unclear condition or row-level deletes leave no row certain, so all files stay."""
    table = _scattered()
    order = RowOrder.parse("k DESC", 3)

    # whether the text is a number depends on the session
    conditioned = _find(table, order, predicate="k >= '0'")
    table.has_deletes = True
    deleted = _find(table, order)

    for matches in (conditioned, deleted):
        assert len(matches.paths) == 50
        assert ReasonCode.ORDER_NOT_USED in {reason.code for reason in matches.reasons}


@pytest.mark.parametrize(("order_by", "limit"), [("", 5), ("k DESC", None), ("k", 0), (None, 5)])
def test_orders_that_mean_nothing_are_refused(order_by: str | None, limit: int | None) -> None:
    """An order needs a column and a limit, and a limit needs an order."""
    with pytest.raises(InvalidInputError) as refused:
        given_order(order_by, limit)
    assert refused.value.kind is ErrorKind.INVALID_ARGUMENT


def test_orders_are_read_as_spark_reads_them() -> None:
    """Null is the lowest value unless the order says where it belongs."""
    assert str(RowOrder.parse("k", 1)) == "ORDER BY k ASC NULLS FIRST LIMIT 1"
    assert str(RowOrder.parse("a.`b c` desc", 2)) == "ORDER BY a.`b c` DESC NULLS LAST LIMIT 2"
