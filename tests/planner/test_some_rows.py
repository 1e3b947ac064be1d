"""Scans that need some rows of a condition, by the protocol: the files that are kept have them."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth
from tests.engines.tables import drawn_table, rows_by_file
from tests.index.test_waiting import local_index
from tests.planner.conditions import compared_with, drawn_condition, truth
from tests.planner.engine import Engine, codes, request, scan_of
from tests.planner.scans import scan_at

from lakesieve.planner import Planner

if TYPE_CHECKING:
    from pathlib import Path

    from lakesieve.tables import TableReader

FILES = 14
QUERIES = depth("PLANNER_SOME_ROWS", test=120, soak=5000)
INDEXES: tuple[tuple[str, ...], ...] = (
    ("flag",),
    ("small",),
    ("real",),
    ("text",),
    ("flag", "data"),
    ("small", "flag", "id"),
    ("text", "moment"),
    ("money",),
)
"""The key columns of each index."""

Row = dict[str, Any]


@pytest.fixture(scope="module", params=[0, 5])
def table(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> TableReader:
    """A table of drawn rows, with indexes of data files or row blocks that cover most files."""
    drawn = random.Random(f"some rows {request.param}")
    folder = tmp_path_factory.mktemp("some_rows")
    return drawn_table(
        folder, drawn, INDEXES, files=FILES, sizes=(1, 20, 60), rows_per_block=request.param
    )


def _on_column(drawn: random.Random, name: str, held: list[Row]) -> dict[str, Any]:
    """Draw a condition on one column."""
    value = drawn.choice(held)[name]
    if value is None or drawn.random() < 0.1:
        return {"op": drawn.choice(["isnull", "isnotnull"]), "col": [name]}
    compared = compared_with(drawn.choice(["=", "=", "<=>", "in", "<", ">="]), name, value)
    return {"op": "not", "arg": compared} if drawn.random() < 0.1 else compared


def _condition(drawn: random.Random, held: list[Row]) -> dict[str, Any]:
    """Draw a condition on columns of an index, and sometimes more."""
    index = drawn.choice(INDEXES)
    names = index[: drawn.randint(1, len(index))]
    parts = [_on_column(drawn, name, held) for name in names]
    if drawn.random() < 0.3:
        parts.append(_on_column(drawn, drawn.choice(["flag", "small", "id"]), held))
    if drawn.random() < 0.2:
        parts.append(drawn_condition(drawn, 1))
    return {"op": drawn.choice(["and", "and", "and", "or"]), "args": parts}


def test_enough_rows_are_kept(table: TableReader) -> None:
    """Whatever the condition and the deletes, as many rows are kept as the query needs."""
    drawn = random.Random("some rows")
    engine = Engine(Planner().answer)
    held = rows_by_file(table)
    paths = list(held)
    every = [row for rows_of_file in held.values() for row in rows_of_file]
    fewer = 0
    for number in range(QUERIES):
        condition = _condition(drawn, every)
        incomplete = set(drawn.sample(paths, drawn.choice([0, 0, 1, 4])))
        matching = {
            path: sum(
                truth(condition, row) is True
                for row in held[path]
                if path not in incomplete or drawn.random() < 0.5
            )
            for path in paths
        }
        limit = drawn.choice([1, 1, 2, 3, 10, 50])
        scan = scan_of(table, condition)

        kept = engine.kept(scan | {"some_rows": {"limit": limit}}, paths, set(paths) - incomplete)

        found = sum(matching[path] for path in kept)
        assert found >= min(limit, sum(matching.values())), (number, condition, limit)
        without = engine.kept(scan, paths)
        assert kept <= without
        fewer += len(kept) < len(without)
    assert fewer > QUERIES / 8


def _answer(planner: Planner, table: str, some_rows: Any) -> dict[str, Any]:
    condition = {"op": ">=", "col": ["k"], "type": "integer", "value": "0"}
    scan = scan_at(table) | {"filter": condition, "some_rows": some_rows}
    answer: dict[str, Any] = json.loads(planner.answer(request(scan)))
    return answer


def test_the_engine_is_asked_which_files_count(tmp_path: Path) -> None:
    """Without a file that the engine reads whole, the limit leaves out no file."""
    planner, table = Planner(), local_index(tmp_path)

    asked = _answer(planner, table, {"limit": 1})

    ((catalogue, _),) = asked["scans"][0]["live"][0]
    answer = _answer(planner, table, {"limit": 1, "live": {catalogue: "AA=="}})
    assert "enough-rows" not in codes(answer)[0]
    assert "live" not in answer["scans"][0]


def test_the_engine_is_not_asked_in_vain(tmp_path: Path) -> None:
    """If no answer could leave out a file, the planner does not ask back."""
    answer = _answer(Planner(), local_index(tmp_path), {"limit": 10_000})

    assert "enough-rows" not in codes(answer)[0]
    assert "live" not in answer["scans"][0]


@pytest.mark.parametrize(
    "some_rows",
    [
        [],
        {},
        {"limit": "1"},
        {"limit": -1},
        {"limit": 1, "live": []},
        {"limit": 1, "live": {"c": "%"}},
        {"limit": 1, "more": 1},
    ],
)
def test_malformed_limits(some_rows: Any) -> None:
    """Limits that are not as described are refused."""
    assert _answer(Planner(), "/nowhere", some_rows)["refusal"]["code"] == "protocol-mismatch"
