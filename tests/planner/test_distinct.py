"""Scans that need each key once, by the protocol: the files that are kept have every key."""

from __future__ import annotations

import itertools
import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth
from tests.engines.tables import covered_files, drawn_table, rows_by_file
from tests.index.test_waiting import local_index
from tests.planner.conditions import compared_with, order_of, truth
from tests.planner.engine import Engine, codes, request, scan_of
from tests.planner.scans import scan_at
from tests.store.samples import data_files

from lakesieve.planner import Planner

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from lakesieve.tables import TableReader

ANY_ROW: dict[str, Any] = {"op": "and", "args": []}
KEYS = {"cols": [["k"]]}
HIGHEST = {"col": ["k"], "descending": True, "nulls_first": False, "limit": 1}
NEEDED: dict[str, Any] = {
    "first_rows": {"orders": [HIGHEST], "filtered": False},
    "distinct": KEYS,
    "some_rows": {"limit": 1},
}
FILES = 14
QUERIES = depth("PLANNER_DISTINCT", test=80, soak=4000)
INDEXES: tuple[tuple[str, ...], ...] = (
    ("flag",),
    ("small",),
    ("real",),
    ("data",),
    ("flag", "data"),
    ("day", "flag"),
    ("text", "flag", "day"),
)
"""The key columns of each index."""

Row = dict[str, Any]


@pytest.fixture(scope="module", params=[0, 5])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TableReader:
    """A table of drawn rows, with indexes of data files or row blocks that cover most files."""
    drawn = random.Random(f"distinct {request.param}")
    folder = tmp_path_factory.mktemp("distinct")
    return drawn_table(
        folder, drawn, INDEXES, files=FILES, sizes=(1, 40, 200), rows_per_block=request.param
    )


def _condition(drawn: random.Random, names: Iterable[str], held: list[Row]) -> dict[str, Any]:
    """Draw conditions on some columns."""
    parts: list[dict[str, Any]] = []
    for name in names:
        value = drawn.choice(held)[name]
        kind = drawn.randrange(4)
        if kind == 0:
            parts.append({"op": drawn.choice(["isnull", "isnotnull"]), "col": [name]})
        elif kind == 1 and value is not None:
            compared = compared_with(drawn.choice(["=", "<=>", "<", ">=", "in"]), name, value)
            parts.append(drawn.choice([compared, {"op": "not", "arg": compared}]))
    return {"op": drawn.choice(["and", "and", "or"]) if parts else "and", "args": parts}


def _keys(found: Iterable[Row], names: Collection[str]) -> set[Any]:
    """Return the distinct keys of rows, as Spark tells them apart."""
    return {
        tuple(None if row[name] is None else order_of(row[name]) for name in names) for row in found
    }


def test_every_key_is_kept(table: TableReader) -> None:
    """Whatever the columns, the condition and the deletes, each key is in a file that is kept."""
    drawn = random.Random("distinct keys")
    engine = Engine(Planner().answer)
    held = rows_by_file(table)
    paths = list(held)
    every = [row for rows_of_file in held.values() for row in rows_of_file]
    fewer = 0
    for number in range(QUERIES):
        index = drawn.choice(INDEXES)
        names = drawn.sample(index, drawn.randint(1, len(index)))
        condition = _condition(drawn, names, every)
        incomplete = set(drawn.sample(paths, drawn.choice([0, 0, 1, 4])))
        returned = {
            path: [
                row
                for row in held[path]
                if (path not in incomplete or drawn.random() < 0.5)
                and truth(condition, row) is True
            ]
            for path in paths
        }
        scan = scan_of(table, condition)
        distinct = scan | {"distinct": {"cols": [[name] for name in names]}}

        kept = engine.kept(distinct, paths, set(paths) - incomplete)

        expected = _keys((row for path in paths for row in returned[path]), names)
        found = _keys((row for path in kept for row in returned[path]), names)
        assert found == expected, (number, names, condition)
        without = engine.kept(scan, paths)
        assert kept <= without
        fewer += len(kept) < len(without)
    assert fewer > QUERIES / 10


def test_counts_are_those_of_the_rows(table: TableReader) -> None:
    """The planner tells the number of distinct keys in the files that the engine reads whole."""
    drawn = random.Random("counted keys")
    engine = Engine(Planner().answer)
    held = rows_by_file(table)
    known = 0
    for name, covered in covered_files(table).items():
        for _ in range(10):
            chosen = set(drawn.sample(covered, drawn.choice([1, 3, len(covered)])))
            distinct = {"cols": [[name]], "counted": True}

            answer = engine.scan(scan_of(table, ANY_ROW) | {"distinct": distinct}, chosen)

            if "distinct_count" in answer:
                rows = (row for path in chosen for row in held[path])
                keys = _keys(rows, [name]) - {(None,)}
                assert answer["distinct_count"] == len(keys), (name, chosen)
                known += 1
    assert known > 10


def _answer(planner: Planner, table: str, distinct: Any) -> dict[str, Any]:
    scan = scan_at(table) | {"filter": ANY_ROW, "distinct": distinct}
    answer: dict[str, Any] = json.loads(planner.answer(request(scan)))
    return answer


def test_the_engine_is_asked_which_files_count(tmp_path: Path) -> None:
    """Without a file that the engine reads whole, no file is left out."""
    planner, table = Planner(), local_index(tmp_path)

    asked = _answer(planner, table, KEYS)

    ((catalogue, files),) = asked["scans"][0]["live"][0]
    assert files == len(data_files(0))
    answer = _answer(planner, table, KEYS | {"live": {catalogue: "AA=="}})
    (scan,) = answer["scans"]
    assert codes(answer)[0][0] == "distinct-not-used"
    assert "live" not in scan
    assert "keep" not in scan


@pytest.mark.parametrize("columns", [[["other"]], [["k"], ["other"]]])
def test_columns_without_an_index(tmp_path: Path, columns: list[list[str]]) -> None:
    """Without asking back, all files stay, and the reason is told."""
    answer = _answer(Planner(), local_index(tmp_path), {"cols": columns})

    (scan,) = answer["scans"]
    assert codes(answer)[0][0] == "distinct-not-used"
    assert "keep" not in scan
    assert "live" not in scan


@pytest.mark.parametrize(
    "distinct",
    [
        [],
        {},
        {"cols": []},
        {"cols": ["k"]},
        {"cols": [["k"]], "live": []},
        {"cols": [["k"]], "live": {"c": "%"}},
        {"cols": [["k"]], "counted": 1},
        {"cols": [["k"]], "more": 1},
    ],
)
def test_malformed_columns(distinct: Any) -> None:
    """Columns that are not as described are refused."""
    assert _answer(Planner(), "/nowhere", distinct)["refusal"]["code"] == "protocol-mismatch"


@pytest.mark.parametrize("names", [*itertools.combinations(NEEDED, 2)])
def test_several_needs_of_one_scan(names: tuple[str, str]) -> None:
    """A scan needs first rows, distinct keys or some rows. A request for two is refused."""
    both = {name: NEEDED[name] for name in names}
    scan = scan_at("/nowhere") | {"filter": ANY_ROW} | both

    answer = json.loads(Planner().answer(request(scan)))

    assert answer["refusal"]["code"] == "protocol-mismatch"
