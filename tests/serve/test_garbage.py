"""Requests that nobody should send get the specification's errors, never a failure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from tests.serve.running import running
from tests.serve.tables import catalog_of

from lakesieve.serve.app import build_app
from lakesieve.serve.catalogs import PyIcebergCatalog
from lakesieve.serve.planning import PlanningContext
from lakesieve.serve.upstream import build_proxy

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAMES = (
    *("filter", "type", "term", "value", "values", "left", "right", "child", "name", "id"),
    *("snapshot-id", "start-snapshot-id", "end-snapshot-id", "select", "stats-fields"),
    *("case-sensitive", "use-snapshot-schema", "min-rows-requested", "plan-task"),
    *("requirements", "updates", "action", "schema", "fields", "element", "snapshot", "spec"),
    *("ref-name", "manifest-list", "statistics", "sort-order", "format-version", "properties"),
)
_WORDS = (
    *("and", "or", "not", "eq", "in", "gt", "is-null", "not-starts-with", "literal", "reference"),
    *("transform", "true", "false", "text", "small", "day", "2020-01-01", "1.5", "", "\x00"),
    *("add-schema", "add-snapshot", "set-snapshot-ref", "set-properties", "assert-create"),
    *(
        "struct",
        "list",
        "map",
        "long",
        "set-location",
        "remove-snapshots",
        "upgrade-format-version",
    ),
)
_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
)
JSON = st.recursive(
    _SCALARS | st.sampled_from(_WORDS) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=5)
        | st.fixed_dictionaries({"type": st.sampled_from(_WORDS), "term": inner, "value": inner})
        | st.fixed_dictionaries({"action": st.sampled_from(_WORDS), "updates": inner})
    ),
    max_leaves=12,
)


@pytest.fixture(scope="module", params=["own", "in front"])
def address(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[str]:
    """Of a server, one that has its own catalog or one before that."""
    catalog = catalog_of(tmp_path_factory.mktemp("garbage"), "db.t", 2)
    with running(build_app(PyIcebergCatalog(catalog), PlanningContext(tasks=1))) as behind:
        if request.param == "own":
            yield behind
            return
        with running(build_proxy(behind, PlanningContext(tasks=1), own_credentials=True)) as before:
            yield before


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=JSON,
    shape=st.sampled_from(["whole", "filter", "updates"]),
    place=st.sampled_from(["tables/t/plan", "tables/t/tasks", "tables/t", "tables/none/plan"]),
)
def test_documents(address: str, body: Any, shape: str, place: str) -> None:
    """JSON of the specification's words in no order."""
    if shape == "filter":
        body = {"filter": body}
    elif shape == "updates":
        body = {"requirements": [], "updates": body}
    _check(httpx.post(f"{address}/v1/namespaces/db/{place}", json=body))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    body=st.binary(max_size=40),
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD"]),
    parts=st.lists(
        st.sampled_from(
            ["namespaces", "db", "tables", "t", "plan", "tasks", "%1F", "..", "%2e", "%00", "ü"]
        ),
        max_size=6,
    ),
)
def test_paths(address: str, body: bytes, method: str, parts: list[str]) -> None:
    """Paths of the specification's parts in no order, with bytes."""
    # the other tests need it
    assume(parts != ["namespaces", "db", "tables", "t"] or method != "DELETE")
    _check(httpx.request(method, f"{address}/v1/{'/'.join(parts)}", content=body))


def _check(answer: httpx.Response) -> None:
    if answer.status_code < 400 or answer.request.method == "HEAD":
        assert answer.status_code != 500
        return
    # 503: a commit of such a document may name manifests that are not there
    assert answer.status_code < 500 or answer.status_code == 503, answer.text
    error = json.loads(answer.content)["error"]
    assert error["code"] == answer.status_code
    assert {"message", "type", "code"} <= error.keys()
