"""Plans over stored indexes that cover different files, against a row-by-row evaluation."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.predicate.drawn import integers, strings
from tests.predicate.row_evaluator import accepts

from lakesieve.format import IndexDefinition, KeyColumn, catalogue_id
from lakesieve.index import KeepTree, OpenedIndex, ReasonCode, keep_tree, usable_indexes
from lakesieve.predicate import ColumnType, Ranges, bind, rows_where
from lakesieve.predicate.expression import And, Compare, In, IsNull, Literal, Not, Or
from lakesieve.predicate.parse import parse_sql
from lakesieve.sieve import KeyType, build_blocks, encode_rows, sort_pairs
from lakesieve.storage import open_storage
from lakesieve.store import (
    BlockCache,
    Changes,
    IndexReader,
    IndexStore,
    stage_catalogue,
    stage_segment,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lakesieve.predicate.expression import Expr
    from lakesieve.sieve import Interval

FILES = 6
KINDS = {"a": "integer", "s": "string", "c": "integer"}
COLUMNS: dict[tuple[str, ...], ColumnType] = {
    (name,): ColumnType(field_id=at, kind=kind) for at, (name, kind) in enumerate(KINDS.items(), 1)
}
ARROW = {"integer": pa.int64(), "string": pa.binary()}
_numbers = itertools.count()

Row = tuple[int | None, bytes | None, int | None]
Rows = list[tuple[Row, int]]


def path(number: int) -> str:
    return f"/t/{number}.parquet"


def stored(rows: Rows, names: Sequence[str], covered: range) -> OpenedIndex:
    """Return an index of some columns over some of the files, stored as by a build."""
    store = IndexStore(open_storage(f"memory://planner-{next(_numbers)}"))
    covered_rows = [(row, unit - covered.start) for row, unit in rows if unit in covered]
    positions = [list(KINDS).index(name) for name in names]
    columns = [
        pa.array([row[position] for row, _ in covered_rows], ARROW[KINDS[name]])
        for position, name in zip(positions, names, strict=True)
    ]
    keys = encode_rows([KeyType(kind=KINDS[name]) for name in names], columns)
    units = np.array([unit for _, unit in covered_rows], np.int32)
    valid = keys.is_valid().to_numpy(zero_copy_only=False)
    flags = [
        [bool((units[selected] == n).any()) for n in range(len(covered))]
        for selected in (~valid, valid)
    ]
    files = pa.table(
        {
            "path": [path(n) for n in covered],
            "size": [1] * len(covered),
            "records": [int((units == n).sum()) for n in range(len(covered))],
            "has_null": flags[0],
            "has_value": flags[1],
        }
    )
    definition = IndexDefinition(
        name="_".join(names),
        index_uuid=f"{next(_numbers)}",
        table_format="iceberg",
        table_uuid="t",
        table_location="/t",
        columns=tuple(
            KeyColumn(field_id=position + 1, name=name, type="", key_kind=KINDS[name])
            for position, name in zip(positions, names, strict=True)
        ),
        created_at="2026-01-31T00:00:00+00:00",
    )
    segments = []
    if valid.any():
        blocks = build_blocks(*sort_pairs(keys.drop_null(), units[valid]))
        segments.append(
            stage_segment(
                store.storage,
                blocks,
                unit_count=len(covered),
                catalogue=catalogue_id(files.column("path")),
            )
        )
    entry = stage_catalogue(store.storage, files, segments=segments, definition=definition)
    snapshot = store.create(
        definition,
        Changes(operation="create", add_catalogues=(entry,), add_segments=tuple(segments)),
    )
    return OpenedIndex(store, snapshot, BlockCache())


def planned(expr: Expr, indexes: Sequence[OpenedIndex]) -> set[int]:
    """Return the files that a scan reads."""
    kinds = {column.field_id: (column.kind, column.scale) for column in COLUMNS.values()}
    usable, reasons = usable_indexes(indexes, kinds, "t")
    assert reasons == []
    plan = keep_tree(rows_where(bind(expr, COLUMNS, strict=False)), usable)
    return set(np.flatnonzero(kept(plan)).tolist())


def kept(plan: KeepTree) -> np.ndarray:
    """Return for each of the table's files whether a plan keeps it."""
    return plan.of(pa.array([path(n) for n in range(FILES)])).keep


def matching(expr: Expr, rows: Rows) -> set[int]:
    """Return the files with a row for which a predicate is true."""
    return {
        unit
        for row, unit in rows
        if accepts(expr, {(name,): code for name, code in zip(KINDS, row, strict=True)}) is True
    }


def conditions() -> st.SearchStrategy[Expr]:
    def of(name: str) -> st.SearchStrategy[Expr]:
        codes = strings if name == "s" else integers
        literal = st.builds(Literal, kind=st.just(KINDS[name]), value=codes)
        column = st.just((name,))
        return st.one_of(
            st.builds(
                Compare, column=column, op=st.sampled_from(["=", "=", "<", ">="]), value=literal
            ),
            st.builds(
                In, column=column, values=st.lists(literal, min_size=1, max_size=3).map(tuple)
            ),
            st.builds(IsNull, column=column),
        )

    leaves = st.one_of(*map(of, KINDS))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.builds(Not, arg=inner),
            st.builds(And, args=st.lists(inner, min_size=2, max_size=3).map(tuple)),
            st.builds(Or, args=st.lists(inner, min_size=2, max_size=3).map(tuple)),
        ),
        max_leaves=8,
    )


rows_in_files = st.lists(
    st.tuples(
        st.tuples(st.none() | integers, st.none() | strings, st.none() | integers),
        st.integers(0, FILES - 1),
    ),
    max_size=25,
)
some_columns = st.lists(st.sampled_from(list(KINDS)), min_size=1, max_size=3, unique=True)
coverages = st.sampled_from([range(FILES), range(4), range(2, FILES)])


@given(
    rows_in_files,
    st.lists(st.tuples(some_columns, coverages), min_size=1, max_size=3),
    st.lists(conditions(), min_size=1, max_size=6),
)
def test_no_file_with_a_match_is_left_out(
    rows: Rows, shapes: list[tuple[list[str], range]], exprs: list[Expr]
) -> None:
    """Whatever the indexes, their coverage and the predicate, every file with a match is read."""
    indexes = [stored(rows, names, covered) for names, covered in shapes]

    for expr in exprs:
        assert matching(expr, rows) <= planned(expr, indexes)


GRID: Rows = [((a, b"x%d" % s, a * s), (a * 7 + s * 3) % FILES) for a in range(9) for s in range(9)]


@pytest.mark.parametrize(
    ("text", "names", "holds"),
    [
        ("a = 4 AND s = 'x5'", ["a", "s"], lambda a, s, _: (a, s) == (4, b"x5")),
        ("s = 'x5' AND c = 20", ["c", "s"], lambda _, s, c: (s, c) == (b"x5", 20)),
        (
            "(a = 4 AND s = 'x5') OR (a = 5 AND s = 'x4')",
            ["a", "s"],
            lambda a, s, _: (a, s) in {(4, b"x5"), (5, b"x4")},
        ),
        (
            "a IN (1, 3) AND (s = 'x1' OR s = 'x7' AND c = 21)",
            ["a", "s", "c"],
            lambda a, s, c: a in {1, 3} and (s == b"x1" or (s, c) == (b"x7", 21)),
        ),
    ],
    ids=["pair", "other order", "pairs", "nested"],
)
def test_conditions_on_all_columns_are_answered_exactly(
    text: str, names: list[str], holds: Callable[..., bool]
) -> None:
    """If every file has the single values, a combination is found only in files that have it."""
    index = stored(GRID, names, range(FILES))
    expected = {unit for row, unit in GRID if holds(*row)}

    assert planned(parse_sql(text), [index]) == expected
    assert len(expected) < FILES


def test_indexes_intersect() -> None:
    """If two indexes answer a condition, only files that both name are read."""
    composite = stored(GRID, ["a", "s"], range(FILES))
    single = stored(GRID, ["c"], range(FILES))
    expr = parse_sql("a = 4 AND c = 20")
    row_filter = rows_where(bind(expr, COLUMNS, strict=True))
    kinds = {c.field_id: (c.kind, c.scale) for c in COLUMNS.values()}
    usable, _ = usable_indexes([composite, single], kinds, "t")

    plan = keep_tree(row_filter, usable)

    assert plan.used == ("a_s", "c")
    assert kept(plan).sum() < kept(keep_tree(row_filter, usable[1:])).sum()


def test_what_is_never_true_skips_all_that_is_known() -> None:
    """If no value can match, every covered file is skipped."""
    index = stored(GRID, ["a"], range(FILES))

    assert planned(parse_sql("a = 1 AND a = 2"), [index]) == set()


def test_a_type_that_changed_ends_what_is_answered() -> None:
    """Columns from the first one whose kind changed on are not used, and a reason says so."""
    index = stored(GRID, ["a", "s", "c"], range(FILES))

    usable, reasons = usable_indexes([index], {1: ("integer", 0), 2: ("date", 0)}, "t")

    assert [column.name for column in usable[0].columns] == ["a"]
    assert [reason.code for reason in reasons] == [ReasonCode.TYPE_CHANGED]
    assert "s of type" in reasons[0].detail
    assert usable_indexes([index], {2: ("string", 0)}, "t") == ([], [])


def test_another_column_of_the_same_name_is_no_change_of_type() -> None:
    """In Iceberg, a column that took over another column's name is not a change of type."""
    index = stored(GRID, ["a", "s"], range(FILES))

    usable, reasons = usable_indexes(
        [index], {1: ("integer", 0)}, "t", types_by_name={"a": "int", "s": "date"}
    )

    assert [column.name for column in usable[0].columns] == ["a"]
    assert reasons == []


def test_another_column_of_the_same_type_is_named() -> None:
    """Where names alone tell columns apart, one that was dropped and added again is the reason."""
    index = stored(GRID, ["a"], range(FILES))
    definition = dataclasses.replace(index.definition, table_format="delta")
    state = dataclasses.replace(index.snapshot, definition=definition)
    opened = OpenedIndex(IndexStore(index.storage), state)

    usable, (reason,) = usable_indexes([opened], {}, "t", types_by_name={"a": ""})

    assert usable == []
    assert reason.code is ReasonCode.TYPE_CHANGED
    assert "another column that had the name a" in reason.detail


def test_many_keys_are_looked_up_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A repeated question about many keys is read once, and callers cannot change the answer."""
    index = stored(GRID, ["c"], range(FILES))
    log: list[Sequence[Interval]] = []
    lookup = IndexReader.lookup

    def counted(self: IndexReader, intervals: Sequence[Interval]) -> dict[str, np.ndarray] | None:
        log.append(intervals)
        return lookup(self, intervals)

    monkeypatch.setattr(IndexReader, "lookup", counted)
    few, many = (Ranges.points(range(0, 2 * count, 2)) for count in (2, 1000))
    first, _, last = (index.may_match(ranges) for ranges in (few, few, many))
    assert first is not None
    assert last is not None
    expected = last.keep.tolist()
    last.keep[:] = False
    again = index.may_match(many)

    assert again is not None
    assert again.keep.tolist() == expected
    assert any(expected)
    assert [len(intervals) for intervals in log] == [2, 2, 1000]


@pytest.mark.parametrize(
    "ranges",
    [Ranges.points([1]), Ranges(nulls=True), Ranges.everything(), Ranges()],
    ids=["value", "null", "not null", "nothing"],
)
def test_an_index_of_an_empty_table_has_no_file(ranges: Ranges) -> None:
    """An index without any catalogue answers every kind of question."""
    whole = stored(GRID, ["a"], range(FILES))
    empty = dataclasses.replace(whole.snapshot, catalogues=(), segments=())

    matches = OpenedIndex(IndexStore(whole.storage), empty).may_match(ranges)

    assert matches is not None
    assert matches.keep.tolist() == []


def test_a_broken_index_leaves_the_others() -> None:
    """An index that cannot be read is reported, and the other indexes still skip files."""
    good, bad = (stored(GRID, names, range(FILES)) for names in (["a", "s"], ["s", "a"]))
    entry = dataclasses.replace(bad.snapshot.catalogues[0], path="files/" + "0" * 40 + ".parquet")
    state = dataclasses.replace(bad.snapshot, catalogues=(entry,))
    broken = OpenedIndex(IndexStore(bad.storage), state)
    kinds = {c.field_id: (c.kind, c.scale) for c in COLUMNS.values()}
    usable, _ = usable_indexes([good, broken], kinds, "t")

    plan = keep_tree(
        rows_where(bind(parse_sql("a = 4 AND s = 'x5'"), COLUMNS, strict=True)), usable
    )

    assert plan.used == ("a_s",)
    assert [reason.code for reason in plan.reasons] == [
        ReasonCode.INDEX_MISSING_FILE,
        ReasonCode.INDEX_USED,
    ]


def test_what_reads_too_much_of_an_index_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition that would read too much of an index is reported and skips nothing itself."""
    large, small = (stored(GRID, [name], range(FILES)) for name in ("a", "c"))
    whole = large.reader.lookup
    monkeypatch.setattr(
        large.reader, "lookup", lambda ranges: None if len(ranges) > 1 else whole(ranges)
    )
    kinds = {c.field_id: (c.kind, c.scale) for c in COLUMNS.values()}
    usable, _ = usable_indexes([large, small], kinds, "t")

    def plan(text: str) -> tuple[list[tuple[str, str]], int]:
        plan = keep_tree(rows_where(bind(parse_sql(text), COLUMNS, strict=True)), usable)
        return [(reason.code, reason.detail) for reason in plan.reasons], len(plan.indexes)

    alone = ("look-up-too-large", "2 ranges of keys in a")
    assert plan("a IN (2, 4)") == ([alone], 0)
    assert plan("a IN (2, 4) AND c = 20")[0] == [alone, ("index-used", "c")]
    assert plan("a IN (2, 4) AND c = 20")[1] == plan("c = 20")[1]
    assert plan("a IN (2, 4) AND a = 2")[1] == plan("a = 2")[1]


def _one_of(pairs: int) -> Expr:
    """Return ``a = 0 AND c = 0 OR a = 1 AND c = 1 OR ...``."""

    def equal(name: str, value: int) -> Expr:
        return Compare(column=(name,), op="=", value=Literal(kind="integer", value=value))

    return Or(args=tuple(And(args=(equal("a", n), equal("c", n))) for n in range(pairs)))


def test_many_conditions_on_one_index_are_left() -> None:
    """A predicate with too many look-ups, or with too large answers, skips nothing and says why."""
    kinds = {c.field_id: (c.kind, c.scale) for c in COLUMNS.values()}
    usable, _ = usable_indexes([stored(GRID, [n], range(FILES)) for n in ("a", "c")], kinds, "t")

    def codes(pairs: int) -> list[str]:
        rows = rows_where(bind(_one_of(pairs), COLUMNS, strict=True))
        return [str(reason.code) for reason in keep_tree(rows, usable).reasons]

    assert codes(200) == ["index-used"]
    assert codes(10_000) == ["look-up-too-large"] * 2
    for one in usable:
        # answers of indexes that cover a million files
        one.index.files = lambda: [("x", 1 << 20)]  # type: ignore[method-assign]
    assert codes(200) == ["index-used"]
    assert codes(400) == ["look-up-too-large"] * 2
