"""Orders with conditions, by the protocol: files with one of the first rows are kept."""

from __future__ import annotations

import random
from datetime import date
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.depth import depth
from tests.engines.tables import COLUMNS, covered_files, indexes_with_gaps, rows, rows_by_file
from tests.planner.conditions import compared_with, drawn_condition, order_of, truth
from tests.planner.engine import Engine, scan_of

from lakesieve.index import column_types, find
from lakesieve.index.access import without_engine
from lakesieve.index.row_order import RowOrder
from lakesieve.planner import Planner
from lakesieve.predicate import bind, condition_of, exact_values, rows_where, to_sql
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakesieve.tables import TableReader

FILES = 12
ROWS = 8
ORDERS = depth("PLANNER_ORDERS", test=120, soak=5000)
INDEXES: tuple[tuple[str, ...], ...] = (
    *((name,) for name in COLUMNS if name not in {"money", "data"}),
    ("flag", "small"),
    ("flag", "moment", "id"),
    ("flag", "text"),
    ("small", "flag", "money"),
    ("text", "real"),
    ("text", "data"),
    ("data", "flag", "text", "day"),
    ("money", "single"),
)
"""The key columns of each index."""

Row = dict[str, Any]


@pytest.fixture(scope="module", params=[0, 3])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TableReader:
    """A table of drawn rows, with indexes of data files or row blocks that cover most files."""
    drawn = random.Random(f"orders {request.param}")
    folder = tmp_path_factory.mktemp("orders")
    for number in range(FILES):
        part = rows(drawn, drawn.choice([1, ROWS, 2 * ROWS]))
        # days follow one another, so all rows of a file may fulfil a condition on the day
        days = pa.array([date(2000, 1, 1 + number // 2)] * part.num_rows)
        part = part.set_column(part.column_names.index("day"), "day", days)
        pq.write_table(part, folder / f"{number}.parquet")
    made = open_table(f"parquet:{folder}")
    indexes_with_gaps(made, INDEXES, drawn, rows_per_block=request.param)
    return made


def _equality(drawn: random.Random, name: str, held: list[Row]) -> dict[str, Any]:
    """Draw a condition that allows a column one value."""
    value = drawn.choice(held)[name]
    if value is None:
        return {"op": "isnull", "col": [name]}
    return compared_with(drawn.choice(["=", "<=>", "in"]), name, value)


def _condition(drawn: random.Random, index: tuple[str, ...], at: int, held: list[Row]) -> Any:
    """Draw a condition that suits the order of a column of an index, and sometimes more."""
    parts = [_equality(drawn, name, held) for name in index[:at]]
    value = drawn.choice(held)[index[at]]
    if drawn.random() < 0.3 and value is not None:
        parts.append(compared_with(drawn.choice(["<", "<=", ">", ">="]), index[at], value))
    if drawn.random() < 0.2:
        parts.append({"op": "isnotnull", "col": [index[at]]})
    if drawn.random() < 0.1:
        parts.append({"op": "not", "arg": _equality(drawn, index[at], held)})
    if drawn.random() < 0.3:
        day = drawn.choice(held)["day"]
        parts.append(compared_with(drawn.choice(["=", "<=", ">", ">="]), "day", day))
    if drawn.random() < 0.2:
        parts.append(drawn_condition(drawn, 1))
    return {"op": "and", "args": parts}


def _orders(drawn: random.Random, name: str) -> list[dict[str, Any]]:
    """Draw the order of ``ORDER BY`` with ``LIMIT``, or those of ``max`` and ``min``."""
    column = {"col": [name]}
    if drawn.random() < 0.2:
        ends = {"nulls_first": False, "limit": 1}
        return [column | {"descending": way} | ends for way in (True, False)]
    return [
        column
        | {
            "descending": drawn.random() < 0.5,
            "nulls_first": drawn.random() < 0.5,
            "limit": drawn.choice([1, 1, 2, 3, 5, 20]),
        }
    ]


def _ranked(order: dict[str, Any], found: Iterable[tuple[str, Row]]) -> list[tuple[str, Row]]:
    """Return rows with their files in an order."""
    (name,) = order["col"]
    rows_found = list(found)
    nulls = [(path, row) for path, row in rows_found if row[name] is None]
    others = [(path, row) for path, row in rows_found if row[name] is not None]
    others.sort(key=lambda pair: order_of(pair[1][name]), reverse=order["descending"])
    return [*nulls, *others] if order["nulls_first"] else [*others, *nulls]


def _first(order: dict[str, Any], found: Iterable[tuple[str, Row]]) -> set[str]:
    """Return the files of the first rows of an order, ties with the last of them included."""
    (name,) = order["col"]

    def place(row: Row) -> Any:
        return None if row[name] is None else order_of(row[name])

    ranked = _ranked(order, found)
    last = [place(row) for _, row in ranked[: order["limit"]]]
    return {path for path, row in ranked if place(row) in last}


def _check_bound(
    order: dict[str, Any], bound: dict[str, Any] | None, found: Iterable[tuple[str, Row]]
) -> None:
    """Insist that the first rows that are not null lie within a bound."""
    if bound is None:
        return
    within = {"op": ">=" if order["descending"] else "<", "col": order["col"], **bound}
    for _, row in _ranked(order, found)[: order["limit"]]:
        assert row[order["col"][0]] is None or truth(within, row) is True, (order, bound, row)


def test_files_of_the_first_rows_are_kept(table: TableReader) -> None:
    """Whatever the condition, the order and the deletes, no file with a first row is left out."""
    drawn = random.Random("orders with conditions")
    engine = Engine(Planner().answer)
    held = rows_by_file(table)
    paths = list(held)
    every = [row for rows_of_file in held.values() for row in rows_of_file]
    used = fewer = bounds = 0
    for number in range(ORDERS):
        index = drawn.choice(INDEXES)
        at = drawn.randrange(len(index))
        condition = _condition(drawn, index, at, every)
        orders = _orders(drawn, index[at])
        incomplete = set(drawn.sample(paths, drawn.choice([0, 0, 1, 4])))
        returned = [
            (path, row)
            for path in paths
            for row in held[path]
            if path not in incomplete or drawn.random() < 0.5
        ]
        matching = [(path, row) for path, row in returned if truth(condition, row) is True]
        scan = scan_of(table, condition)
        first = scan | {"first_rows": {"orders": orders, "filtered": True}}

        kept = engine.kept(first, paths, set(paths) - incomplete)

        for order in orders:
            assert _first(order, matching) <= kept, (number, condition, order)
        known = engine.scan(first, set(paths) - incomplete).get("first_rows", [])
        for order, one in zip(orders, known, strict=bool(known)):
            _check_bound(order, one["bound"], matching)
            bounds += one["bound"] is not None
        without = engine.kept(scan, paths)
        assert kept <= without
        used += 1
        fewer += len(kept) < len(without)
    assert fewer > used / 10
    assert bounds > used / 10


def test_first_values_are_those_of_the_rows(table: TableReader) -> None:
    """The planner tells the highest or lowest value in the files that the engine reads whole."""
    drawn = random.Random("first values")
    engine = Engine(Planner().answer)
    held = rows_by_file(table)
    alone = covered_files(table)
    known = 0
    for name, covered in alone.items():
        for descending in (True, False):
            chosen = sorted(
                set(covered) & set(drawn.sample(sorted(held), drawn.choice([3, FILES])))
            )
            order = {"col": [name], "descending": descending, "nulls_first": False, "limit": 1}
            scan = scan_of(table, {"op": "and", "args": []})
            scan |= {"first_rows": {"orders": [order], "filtered": False}}

            (first,) = engine.scan(scan, set(held) & set(chosen)).get(
                "first_rows", [{"value": None}]
            )

            values = [row[name] for path in chosen for row in held[path] if row[name] is not None]
            if first["value"] is not None:
                value = (max if descending else min)(values, key=order_of)
                assert {"op": "=", "col": [name], **first["value"]} == compared_with(
                    "=", name, value
                )
                known += 1
    assert known > len(alone)


def test_files_of_the_first_rows_are_found(table: TableReader) -> None:
    """``find_files`` counts the rows of a condition in SQL text as the scans of engines do."""
    drawn = random.Random("orders with conditions in SQL")
    access = without_engine()
    indexes, _ = access.indexes(table, None)
    types = column_types(table.columns(table.version()))
    held = rows_by_file(table)
    live = table.live_files(table.version())
    locations = dict(
        zip(*(live.column(name).to_pylist() for name in ("path", "location")), strict=True)
    )
    rows_held = [(path, row) for path, found in held.items() for row in found]
    used = fewer = 0
    for number in range(ORDERS):
        index = drawn.choice(INDEXES)
        at = drawn.randrange(len(index))
        condition = _condition(drawn, index, at, [row for _, row in rows_held])
        (order, *_) = _orders(drawn, index[at])
        bound = bind(condition_of(condition), types, strict=False)
        if exact_values(bound) is None:
            continue
        text = to_sql(rows_where(bound), types, shorten=False)
        direction = "DESC" if order["descending"] else "ASC"
        nulls = "FIRST" if order["nulls_first"] else "LAST"
        wanted = RowOrder.parse(f"{index[at]} {direction} NULLS {nulls}", order["limit"])

        kept = find(table, indexes, [], text, access=access, order=wanted)

        matching = [(path, row) for path, row in rows_held if truth(condition, row) is True]
        needed = {locations[path] for path in _first(order, matching)}
        assert needed <= set(kept.paths), (number, text, str(wanted))
        without = find(table, indexes, [], text, access=access)
        assert set(kept.paths) <= set(without.paths)
        used += 1
        fewer += len(kept.paths) < len(without.paths)
    assert fewer > used / 10
