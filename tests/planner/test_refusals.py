"""Requests that the planner does not understand are refused, so that all files are read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.index.test_waiting import local_index
from tests.planner.engine import codes, request
from tests.planner.scans import scan_at

from lakesieve.planner import PROTOCOL, Planner

if TYPE_CHECKING:
    from pathlib import Path

SCAN = scan_at("/nowhere")
REQUEST: dict[str, Any] = json.loads(request(SCAN))
DIGESTS = {"version": PROTOCOL, "ticket": "x", "catalogue": "c", "from": 0}


def _without(document: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in document.items() if key != name}


def _refusal(text: str) -> dict[str, str]:
    answer = json.loads(Planner().answer(text))
    assert answer["version"] == PROTOCOL
    assert answer.keys() == {"version", "refusal"}
    refusal: dict[str, str] = answer["refusal"]
    return refusal


VERSIONS: dict[str, object] = {
    "none": _without(REQUEST, "version"),
    "older": REQUEST | {"version": PROTOCOL - 1},
    "newer": REQUEST | {"version": PROTOCOL + 1},
    "newer, of digests": DIGESTS | {"version": PROTOCOL + 1},
    "none, of digests": _without(DIGESTS, "version"),
    "text": REQUEST | {"version": str(PROTOCOL)},
    "truth": REQUEST | {"version": True},
    "float": REQUEST | {"version": float(PROTOCOL)},
    "null": REQUEST | {"version": None},
}


@pytest.mark.parametrize("document", VERSIONS.values(), ids=list(VERSIONS))
def test_other_versions(document: object) -> None:
    """A request of an unknown version, or of none, is refused, whatever else is in it."""
    refusal = _refusal(json.dumps(document))
    assert refusal["code"] == "protocol-mismatch"
    assert "version" in refusal["detail"]


GARBAGE = ["", "no JSON", "[]", "null", "1", '"version"', "{}", '{"version": 1', "[" * 100_000]


@pytest.mark.parametrize("text", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage(text: str) -> None:
    """What is no request is refused, too."""
    assert _refusal(text)["code"] == "protocol-mismatch"


ODD: dict[str, object] = {
    "unknown field": REQUEST | {"more": 1},
    "negative time": REQUEST | {"seconds": -1},
    "no number": REQUEST | {"seconds": float("nan")},
    "endless": REQUEST | {"seconds": float("inf")},
    "no memory": _without(REQUEST, "memory"),
    "memory as a float": REQUEST | {"memory": 1.5},
    "catalogues as a text": REQUEST | {"catalogues": "c"},
    "scans as an object": REQUEST | {"scans": {}},
    "scan as a text": REQUEST | {"scans": ["scan"]},
    "ticket as a number": DIGESTS | {"ticket": 5},
    "from below zero": DIGESTS | {"from": -1},
    "more of digests": DIGESTS | {"scans": []},
    "unknown field of a scan": REQUEST | {"scans": [SCAN | {"id": 0, "rows": []}]},
    "keys as an object": REQUEST | {"scans": [SCAN | {"id": 0, "keys": {}}]},
    "keys of numbers": REQUEST | {"scans": [SCAN | {"id": 0, "keys": [1]}]},
    "file IO of numbers": REQUEST | {"scans": [SCAN | {"id": 0, "file_io": {"a": 1}}]},
    "no id": REQUEST | {"scans": [SCAN]},
    **{
        f"no {name}": REQUEST | {"scans": [_without(SCAN, name) | {"id": 0}]}
        for name in ("format", "uuid", "location", "schema", "filter")
    },
}


@pytest.mark.parametrize("document", ODD.values(), ids=list(ODD))
def test_other_forms(document: object) -> None:
    """A field too few, too many or of another type refuses the request."""
    assert _refusal(json.dumps(document))["code"] == "protocol-mismatch"


def test_values_are_in_no_refusal() -> None:
    """A refusal names fields and no values, which may be credentials."""
    secret = SCAN | {"id": 0, "file_io": {"s3.secret-access-key": ["hush"]}}
    refusal = _refusal(json.dumps(REQUEST | {"scans": [secret]}))
    assert "hush" not in json.dumps(refusal)


def test_a_scan_that_cannot_be_answered_stays_as_it_is(tmp_path: Path) -> None:
    """An odd table, schema or filter concerns its own scan; the others are answered."""
    scan = scan_at(local_index(tmp_path))
    odd = [
        scan | {"format": "other"},
        scan | {"schema": "no JSON"},
        scan | {"uuid": "another table's"},
        scan | {"location": "/nowhere"},
        scan | {"filter": "no condition"},
        scan | {"keys": [{"op": "keys"}]},
    ]
    answer = json.loads(Planner().answer(request(*odd, scan)))

    assert codes(answer) == [
        ["scan-unsupported"],
        ["internal-error"],
        ["other-table", "no-index"],
        ["no-index"],
        ["no-usable-predicate"],
        ["internal-error"],
        ["index-used"],
    ]
    assert ["keep" in each for each in answer["scans"]] == [False] * 6 + [True]


PARTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(
    st.dictionaries(st.sampled_from([*REQUEST, *DIGESTS]), PARTS, max_size=6),
    st.dictionaries(st.sampled_from([*SCAN, "id", "keys", "given", "file_io"]), PARTS, max_size=3),
)
def test_drawn_requests(changed: dict[str, Any], of_scan: dict[str, Any]) -> None:
    """No request makes the planner raise, and none that is odd leaves a file out."""
    document = REQUEST | {"seconds": 1, "scans": [SCAN | {"id": 0} | of_scan]} | changed
    if isinstance(document["seconds"], (int, float)) and document["seconds"] > 1:
        document["seconds"] = 1
    answer = json.loads(Planner().answer(json.dumps(document)))

    assert answer["version"] == PROTOCOL
    assert ("refusal" in answer) != ("scans" in answer)
    assert not any("keep" in scan for scan in answer.get("scans", ()))
