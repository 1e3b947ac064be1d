"""Data files and row blocks that are enough for a limit have so many rows of the condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import depth
from tests.index.drawn_keys import (
    INTEGERS,
    drawn_condition,
    drawn_life,
    opened_with,
    table_of,
    values_of,
)

from lakesieve.index import (
    NeededRows,
    ReasonCode,
    SomeRows,
    plan,
)
from lakesieve.predicate.parse import parse_sql
from lakesieve.sieve import encode_keys

if TYPE_CHECKING:
    from collections.abc import Collection

    from tests.kit.key_table import KeyTable

    from lakesieve.index import KeepTree
    from lakesieve.predicate import Ranges
    from lakesieve.sieve import KeyType


def _needed(
    table: KeyTable, condition: str, limit: int, complete: Collection[str]
) -> tuple[NeededRows, KeepTree]:
    """Return what is enough if a scan returns all rows of some files, and the plan of the scan."""
    opened, live = opened_with(table, complete)
    columns = table.columns(table.version())
    expression = parse_sql(condition)
    needed = SomeRows(limit=limit).needed(columns, expression, [opened], table.uuid)
    if needed.asks:
        some = SomeRows(limit=limit, live=live)
        needed = some.needed(columns, expression, [opened], table.uuid)
        assert not needed.asks
    planned = plan(columns, expression, [opened], table.uuid, strict=False, needed=needed)
    return needed, planned.plan


def _matching(
    table: KeyTable, key_type: KeyType, tree: KeepTree, paths: list[str], values: Ranges
) -> dict[str, int]:
    """Return how many of the rows that a plan reads fulfil the condition, by path."""
    judged = tree.of(pa.array(paths, pa.string()))
    found: dict[str, int] = {}
    for at, path in enumerate(paths):
        if not judged.keep[at]:
            continue
        codes = encode_keys(key_type, table.files[path]).to_pylist()
        if judged.rows is not None:
            ranges = np.flatnonzero(judged.rows.files == at)
            first, end = judged.rows.rows
            codes = [code for one in ranges for code in codes[first[one] : end[one]]]
        found[path] = sum(values.contains(code) for code in codes)
    return found


@settings(max_examples=depth("SOME_ROWS", test=120, soak=3000))
@given(data=st.data())
def test_enough_rows_are_kept(data: st.DataObject) -> None:
    """Whatever is indexed, deleted, dropped, added and merged, enough rows are read."""
    life = drawn_life(data, budgets=(None, None, None, "1 bits"), always_refreshed=False)
    table, key_type = life.table, life.key_type
    if data.draw(st.booleans()):
        life.compact(data)
    condition = drawn_condition(data, table, key_type)
    values = values_of(table, condition)
    limit = data.draw(st.sampled_from([1, 2, 5, 40]))
    for paths in table.versions:
        complete = [path for path in paths if data.draw(st.integers(0, 3))]
        needed, tree = _needed(table, condition, limit, complete)
        kept = _matching(table, key_type, tree, paths, values)
        assert life.uncovered & set(paths) <= kept.keys()
        _, everything = _needed(table, condition, limit, [])
        total = _matching(table, key_type, everything, paths, values)
        if needed.index is None:
            assert kept == total
        else:
            # the scan may return no row of the other files
            assert sum(kept.get(path, 0) for path in complete) >= limit


def _of(files: list[list[int | None]], rows_per_block: int = 0) -> KeyTable:
    table = table_of(INTEGERS, [pa.array(values, pa.int64()) for values in files])
    table.versions = [list(table.files)]
    table.create(rows_per_block=rows_per_block)
    return table


@pytest.mark.parametrize(
    ("condition", "limit", "files"),
    [
        ("k = 7", 1, 1),
        ("k = 7", 3, 3),
        ("k IN (7, 9)", 4, 2),
        ("k BETWEEN 10 AND 29", 20, 1),
        ("k BETWEEN 10 AND 29", 21, 2),
        ("k >= 0", 1000, 10),
        ("k IS NOT NULL", 150, 2),
        ("k IS NULL", 2, 2),
    ],
)
def test_few_files_are_read(condition: str, limit: int, files: int) -> None:
    """Each file has each of a hundred keys once, and null: so many files as needed are read."""
    table = _of([[*range(100), None] for _ in range(50)])

    needed, tree = _needed(table, condition, limit, table.versions[0])

    assert [reason.code for reason in needed.reasons] == [ReasonCode.ENOUGH_ROWS]
    judged = tree.of(pa.array(table.versions[0], pa.string()))
    assert judged.keep.sum() == files


def test_more_keys_than_are_kept() -> None:
    """If a segment has as many keys as integers between its bounds, each integer is a key."""
    table = _of([[*range(1000)] for _ in range(9)])

    _, tree = _needed(table, "k = 700", 2, table.versions[0])

    assert tree.of(pa.array(table.versions[0], pa.string())).keep.sum() == 2


def test_whole_files_count_all_rows() -> None:
    """Where files follow one another in the order of the keys, one file has enough rows."""
    table = _of([[*range(at, at + 100)] * 3 for at in range(0, 1000, 100)])

    _, tree = _needed(table, "k >= 350", 300, table.versions[0])

    judged = tree.of(pa.array(table.versions[0], pa.string()))
    assert np.flatnonzero(judged.keep).tolist() == [4]


def test_few_row_blocks_are_read() -> None:
    """With row blocks, few blocks of a file are read."""
    table = _of([[*range(10)] * 20, [*range(10)] * 20], rows_per_block=10)

    _, tree = _needed(table, "k = 3", 4, table.versions[0])

    judged = tree.of(pa.array(table.versions[0], pa.string()))
    assert judged.rows is not None
    assert judged.rows.lengths(judged.records).tolist() == [40]


@pytest.mark.parametrize("condition", ["k = 7", "k = 7 AND other = 5", "k + 1 = 8"])
def test_nothing_is_left_out(condition: str) -> None:
    """Too few certain rows, and conditions that are not understood, keep what they kept before."""
    table = _of([[*range(0, 1000, 7)] for _ in range(9)])

    limit = 10 if condition == "k = 7" else 1
    needed, tree = _needed(table, condition, limit, table.versions[0])

    assert needed.reasons == ()
    judged = tree.of(pa.array(table.versions[0], pa.string()))
    assert judged.keep.sum() == 9
