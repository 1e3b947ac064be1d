"""An index returns the keys that the rows of a version have, or it refuses."""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest import mock

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.depth import depth
from tests.index.drawn_keys import INTEGERS, drawn_life, table_of

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError, UnsupportedError
from lakesieve.index import OpenedIndex
from lakesieve.index.access import without_engine
from lakesieve.index.ordered_keys import OrderedKeys
from lakesieve.sieve import MOST_END_KEYS, KeyType, encode_keys
from lakesieve.storage import Storage
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.kit.key_table import KeyTable

    from lakesieve.index import Index


def _answer(ask: Callable[[], Any]) -> Any:
    """Return an answer, or the kind of the error that refuses it."""
    try:
        return ask()
    except UnsupportedError as error:
        return error.kind


def _check(table: KeyTable, key_type: KeyType, index: Index, *, must: bool) -> None:
    """Compare all answers of all versions with the rows. ``must`` forbids that keys are lacking."""
    for version in range(len(table.versions)):
        rows = encode_keys(key_type, table.values(version))
        keys = sorted(set(rows.drop_null().to_pylist()))
        answers: list[tuple[Any, list[Any]]] = [
            (_answer(partial(index.min, version)), keys[:1] or [None]),
            (_answer(partial(index.max, version)), keys[-1:] or [None]),
            (_answer(partial(index.distinct, version)), keys),
            (_answer(partial(index.distinct, version, limit=2)), keys[:2]),
            (_answer(partial(index.distinct, version, limit=2, descending=True)), keys[:-3:-1]),
            (_answer(partial(index.distinct_count, version)), [len(keys)]),
        ]
        for answer, expected in answers:
            if isinstance(answer, ErrorKind):
                _check_refusal(answer, key_type, must=must)
            elif isinstance(answer, int):
                assert [answer] == expected
            else:
                values = pa.array([answer]) if isinstance(answer, pa.Scalar) else answer
                assert encode_keys(key_type, values).to_pylist() == expected


def _check_refusal(kind: ErrorKind, key_type: KeyType, *, must: bool) -> None:
    if key_type.kind == "string" and kind is ErrorKind.UNSUPPORTED_TYPE:
        return  # bytes that are no text
    assert kind is ErrorKind.KEYS_NOT_KEPT
    assert not must


@settings(max_examples=depth("ORDERED_KEYS", test=60, soak=1500))
@given(data=st.data())
def test_answers_are_the_keys_of_the_rows(data: st.DataObject) -> None:
    """Whatever is indexed, refreshed, dropped and merged, no answer differs from the rows."""
    life = drawn_life(data)
    table, key_type = life.table, life.key_type
    index = table.index()
    is_small = all(
        len(set(encode_keys(key_type, values).to_pylist())) <= MOST_END_KEYS // 8
        for values in table.files.values()
    )

    _check(table, key_type, index, must=is_small)

    life.compact(data)
    _check(table, key_type, index, must=False)


def test_appended_keys_are_answered_from_both_ends() -> None:
    """Where every indexed file is live, both ends are known, also after a merge."""
    files = [pa.array(range(start, start + 1000), pa.int64()) for start in (0, 500, 5000)]
    table = table_of(INTEGERS, files)
    table.versions = [list(table.files)[:2]]
    table.create()
    table.versions = [list(table.files)]
    table.refresh()
    index = table.index()

    for _ in range(2):
        assert (index.min().as_py(), index.max().as_py()) == (0, 5999)
        assert index.distinct(limit=3).to_pylist() == [0, 1, 2]
        assert index.distinct(limit=2, descending=True).to_pylist() == [5999, 5998]
        index.compact()


def test_rewritten_files_do_not_count() -> None:
    """Keys of files that were replaced are gone, with the files' segments left unread."""
    files = [pa.array([1, 99], pa.int64()), pa.array([5, 50], pa.int64())]
    table = table_of(INTEGERS, files)
    table.versions = [["file:/t/0"]]
    table.create()
    table.versions.append(["file:/t/1"])
    table.refresh()

    index = table.index()
    assert [index.min().as_py(), index.max().as_py(), index.distinct_count()] == [5, 50, 2]
    assert [index.min(0).as_py(), index.max(0).as_py(), index.distinct_count(0)] == [1, 99, 2]


def _merged_with_strays(count: int) -> Index:
    """Return a merged index of a file of keys, and of one whose keys fell into its blocks."""
    keys = pa.array(range(0, 1000 * count, 1000), pa.int64())
    table = table_of(INTEGERS, [keys])
    table.versions = [["file:/t/0"]]
    table.create()
    beside = pa.array(range(1, 1000 * count, 1000), pa.int64())
    absent = table.index().contains(beside).absent
    strays = beside.filter(pc.invert(absent))[:5]
    assert len(strays) == 5
    table.files = {**table.files, "file:/t/1": strays}
    table.versions.append(list(table.files))
    table.refresh()
    index = table.index()
    index.compact()
    return index


def test_a_merged_set_may_have_a_file_without_the_key() -> None:
    """A key that fell into a block of another file does not live on in that file after a merge."""
    index = _merged_with_strays(200)

    assert index.distinct(limit=3).to_pylist() == [0, 1, 1000]
    assert _answer(partial(index.distinct, 0, limit=32)) is ErrorKind.KEYS_NOT_KEPT
    assert _answer(partial(index.distinct_count, 0)) is ErrorKind.KEYS_NOT_KEPT


def test_a_merge_of_few_keys_knows_their_files() -> None:
    """If the segments list all of their keys, the merged index knows which file has which key."""
    index = _merged_with_strays(100)

    assert index.distinct_count() == 105
    assert index.distinct(0).to_pylist() == [*range(0, 100_000, 1000)]
    assert index.distinct_count(0) == 100


def test_values_have_the_type_of_the_column() -> None:
    """Values come as Arrow holds the column: single precision, days, decimals; NaN is greatest."""
    single = table_of(
        KeyType(kind="float"), [pa.array([0.1, -0.0, math.nan], pa.float32())], "float"
    )
    money = KeyType(kind="decimal", scale=2, precision=20)
    wide = table_of(
        money, [pa.array(["-1.50", "7.25"]).cast(pa.decimal128(20, 2))], "decimal(20,2)"
    )
    days = table_of(KeyType(kind="date"), [pa.array([0, 20_000], pa.int32()).cast(pa.date32())])
    empty = table_of(INTEGERS, [pa.array([None, None], pa.int64())])
    for table in (single, wide, days, empty):
        table.versions = [list(table.files)]
        table.create()

    assert single.index().min().equals(pa.scalar(0.0, pa.float32()))
    assert math.isnan(single.index().max().as_py())
    assert str(wide.index().min().as_py()) == "-1.50"
    assert wide.index().distinct().type == pa.decimal128(20, 2)
    assert days.index().max().type == pa.date32()
    assert empty.index().min().equals(pa.scalar(None, pa.int64()))
    assert empty.index().distinct_count() == 0


def test_a_widened_decimal_has_codes_of_both_widths() -> None:
    """Keys from before and after a decimal got more digits are one order, and meet as one key."""
    narrow, wide = pa.decimal128(10, 2), pa.decimal128(20, 2)
    files = [pa.array(texts).cast(wide) for texts in (["-1.50", "7.25"], ["7.25", "-9", "1E17"])]
    table = table_of(KeyType(kind="decimal", scale=2, precision=10), files)
    held = dict(table.files)
    table.files = {path: values.cast(narrow) for path, values in list(held.items())[:1]}
    table.versions = [list(table.files)]
    table.create()
    table.files, table.versions = held, [*table.versions, list(held)]
    table.column = replace(table.column, precision=20)
    table.refresh()
    index = table.index()

    for _ in range(2):
        assert [str(index.min().as_py()), index.max().as_py()] == ["-9.00", Decimal("1E17")]
        assert index.distinct_count() == len(index.distinct()) == 4
        index.compact()


def test_refusals_have_their_codes() -> None:
    """What an index cannot know for certain is refused, with a code and a next step."""
    files = [pa.array(range(start, 4000, 7), pa.int64()) for start in range(5)]
    table = table_of(INTEGERS, files)
    paths = list(table.files)
    table.versions = [paths[:4]]
    table.create()
    index = table.index()

    table.versions.append(paths)
    with pytest.raises(UnsupportedError, match="1 of 5 data files") as uncovered:
        index.min()
    table.versions.append(paths[:4])
    table.has_deletes = True
    with pytest.raises(UnsupportedError) as deletes:
        index.max()
    table.has_deletes = False
    with pytest.raises(UnsupportedError) as many:
        index.distinct(limit=500)
    with pytest.raises(InvalidInputError) as nothing:
        index.distinct(limit=0)
    budgeted = table_of(INTEGERS, files)
    budgeted.versions = [paths]
    budgeted.create(budget="0.5 bits")
    with pytest.raises(UnsupportedError, match="it has a budget") as coarse:
        budgeted.index().min()

    errors: list[LakesieveError] = [e.value for e in (uncovered, deletes, many, nothing, coarse)]
    assert [error.kind for error in errors] == [
        ErrorKind.UNCOVERED_FILES,
        ErrorKind.ROW_DELETES,
        ErrorKind.KEYS_NOT_KEPT,
        ErrorKind.INVALID_ARGUMENT,
        ErrorKind.KEYS_NOT_KEPT,
    ]
    assert all(error.hint for error in errors)


def test_an_index_of_several_columns_is_refused() -> None:
    """The keys of such an index are tuples, not values of its column."""
    table = table_of(INTEGERS, [pa.array([1], pa.int64())])
    table.versions = [list(table.files)]
    table.create()
    store = IndexStore(without_engine().index_storage(table, "k", None))
    state = store.snapshot()
    several = replace(state.definition, columns=state.definition.columns * 2)
    opened = OpenedIndex(store, replace(state, definition=several))

    with pytest.raises(UnsupportedError, match="several columns") as refused:
        OrderedKeys.of_version(opened, table, table.version())
    assert refused.value.kind is ErrorKind.COMPOSITE_INDEX


@pytest.mark.parametrize("is_descending", [False, True])
def test_only_the_segment_at_the_end_is_read(*, is_descending: bool) -> None:
    """One end of a large index costs one footer, and a row group only if files are not live."""
    files = [pa.array(range(start, start + 1000), pa.int64()) for start in range(0, 9000, 1000)]
    table = table_of(INTEGERS, files)
    paths = list(table.files)
    table.versions = [[]]
    table.create()
    for path in paths:
        table.versions.append([path])
        table.refresh()
    table.versions.append(paths)
    index = table.index()
    ask = index.max if is_descending else index.min
    read = Storage.get_range
    with mock.patch.object(Storage, "get_range", autospec=True, side_effect=read) as reads:
        assert ask().as_py() == (8999 if is_descending else 0)
        assert index.distinct(limit=3, descending=is_descending)[0].as_py() == ask().as_py()

    assert index.info().segments == len(paths)
    assert reads.call_count == 1
