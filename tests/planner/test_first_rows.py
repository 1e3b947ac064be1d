"""An engine that needs only the first rows of an order tells which files it reads whole."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from tests.index.test_waiting import local_index
from tests.planner.engine import codes, request
from tests.planner.scans import scan_at
from tests.store.samples import data_files

from lakesieve.planner import Planner

if TYPE_CHECKING:
    from pathlib import Path

ANY_ROW: dict[str, Any] = {"op": "and", "args": []}
UNKNOWN = {"op": "unknown", "text": "k % 2 = 0"}
HIGHEST = {"col": ["k"], "descending": True, "nulls_first": False, "limit": 1}


def _answer(
    planner: Planner, table: str, condition: dict[str, Any] = ANY_ROW, **first_rows: Any
) -> dict[str, Any]:
    scan = scan_at(table) | {"filter": condition, "first_rows": {"filtered": False} | first_rows}
    answer: dict[str, Any] = json.loads(planner.answer(request(scan)))
    assert "refusal" not in answer, answer
    return answer


def _first(planner: Planner, table: str, live: set[str]) -> tuple[str, str]:
    """Return which keys the first row can have if only some files count, and the reason."""
    asked = _answer(planner, table, orders=[HIGHEST])
    ((catalogue, files),) = asked["scans"][0]["live"][0]
    paths = data_files(0)
    assert files == len(paths)
    bits = np.packbits([path in live for path in paths], bitorder="little").tobytes()
    order = HIGHEST | {"live": {catalogue: base64.b64encode(bits).decode()}}
    answer = _answer(planner, table, orders=[order])
    (scan,) = answer["scans"]
    assert "live" not in scan
    return scan["predicate"], codes(answer)[0][0]


def test_only_live_files_count(tmp_path: Path) -> None:
    """Only rows of files that the engine reads whole are certain: file n begins with key n."""
    planner, table = Planner(), local_index(tmp_path)
    paths = data_files(0)

    for number, path in enumerate(paths):
        assert _first(planner, table, {path}) == (f"k >= {number}", "first-rows")
    assert _first(planner, table, set(paths)) == (f"k >= {len(paths) - 1}", "first-rows")
    assert _first(planner, table, set()) == ("TRUE", "order-not-used")


def test_digests_come_with_the_question(tmp_path: Path) -> None:
    """The engine gets what it needs to find its files in the catalogues."""
    planner, table = Planner(), local_index(tmp_path)

    asked = _answer(planner, table, orders=[HIGHEST])

    ((catalogue, _),) = asked["scans"][0]["live"][0]
    following = {"version": 2, "ticket": asked["ticket"], "catalogue": catalogue, "from": 0}
    digests = base64.b64decode(json.loads(planner.answer(json.dumps(following)))["digests"])
    secret = base64.b64decode(asked["secret"])
    digest = hashlib.sha256(secret + data_files(0)[0].encode()).digest()[:16]
    assert digests.startswith(digest)


@pytest.mark.parametrize(
    "first_rows",
    [
        {"orders": [HIGHEST], "filtered": True, "condition": UNKNOWN},
        {"orders": [HIGHEST | {"col": ["other"]}]},
        {"orders": [HIGHEST, HIGHEST | {"col": ["other"]}]},
    ],
    ids=["an unknown condition", "another column", "one of two columns"],
)
def test_orders_that_are_not_used(tmp_path: Path, first_rows: dict[str, Any]) -> None:
    """Without asking back, all files stay, and the reason is told."""
    answer = _answer(Planner(), local_index(tmp_path), **first_rows)

    (scan,) = answer["scans"]
    assert codes(answer)[0][0] == "order-not-used"
    assert "keep" not in scan
    assert "live" not in scan


@pytest.mark.parametrize(
    "first_rows",
    [
        [],
        {"orders": [], "filtered": False},
        {"orders": [HIGHEST]},
        {"orders": [HIGHEST], "filtered": 0},
        {"orders": ["k"], "filtered": False},
        {"orders": [HIGHEST | {"limit": -1}], "filtered": False},
        {"orders": [HIGHEST | {"live": []}], "filtered": False},
        {"orders": [HIGHEST | {"live": {"c": "%"}}], "filtered": False},
        {"orders": [HIGHEST | {"more": 1}], "filtered": False},
    ],
)
def test_malformed_orders(first_rows: Any) -> None:
    """Orders that are not as described are refused."""
    scan = scan_at("/nowhere") | {"filter": ANY_ROW, "first_rows": first_rows}

    answer = json.loads(Planner().answer(request(scan)))

    assert answer["refusal"]["code"] == "protocol-mismatch"
