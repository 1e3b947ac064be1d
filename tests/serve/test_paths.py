"""Paths by which a caller tries to leave the base path of the catalog behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from starlette.responses import JSONResponse, Response
from tests.serve.running import running
from tests.serve.upstreams import answering, raw_request

from lakesieve.serve.planning import PlanningContext
from lakesieve.serve.upstream import build_proxy

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.requests import Request

_ESCAPES = (
    "/../../admin",
    "/v1/../admin",
    "/v1/./config",
    "/v1/%2e%2e/%2E%2e/admin",
    "/v1/.%2e/admin",
    "/v1/%252e%252e/admin",
    "/v1/..%2fadmin",
    "/v1/..%5cadmin",
    "/v1/..\\admin",
    "/v1/..;/admin",
    "/v1/namespaces/db/tables/../../../admin/plan",
    "/v1//admin",
    "//admin",
    "/v1/%2f/admin",
    "/v1/x%00",
    "/v1/x%0d%0aX-A:b",
    "/v1/namespaces/%2e%2e",
    "@example.com/admin",
)
_NAMES = (
    "/v1/namespaces/a%1Fb/tables/t",
    "/v1/main%7Cwarehouse/namespaces/db",
    "/v1/feature%2Fx/namespaces/db/tables/t",
    "/v1/namespaces/a%20b..c/tables/..x",
    "/v1/namespaces/gr%C3%BCn/tables/100%25",
    "/v1/namespaces/",
)


@pytest.fixture(scope="module")
def seen() -> list[str]:
    """The paths that the catalog behind was asked for."""
    return []


@pytest.fixture(scope="module")
def address(seen: list[str]) -> Iterator[str]:
    """Of a server in front of a catalog that has a base path."""

    async def answer(request: Request) -> Response:
        seen.append(request.scope["raw_path"].decode())
        return JSONResponse({"made": "up"})

    with (
        running(answering(answer)) as upstream,
        running(build_proxy(f"{upstream}/catalog/v1", PlanningContext())) as address,
    ):
        yield address


@pytest.mark.parametrize("path", _ESCAPES)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_escapes(address: str, seen: list[str], path: str, method: str) -> None:
    """What a client, server or file system would read as another path is refused."""
    seen.clear()
    # what the server that reads HTTP refuses by itself has no document
    try:
        status, document = raw_request(address, path, method)
    except ValueError:
        status, document = 400, None
    assert status == 400
    assert document is None or document["error"]["type"] == "BadRequestException"
    assert seen == []


@pytest.mark.parametrize("path", _NAMES)
def test_names(address: str, seen: list[str], path: str) -> None:
    """Names with dots, slashes and other letters reach the catalog as they were written."""
    seen.clear()
    assert raw_request(address, path)[0] == 200
    assert seen == [f"/catalog{path}"]


def test_slashes_within_names(address: str, seen: list[str]) -> None:
    """An encoded slash separates no names: a table called ``t/plan`` has no plan."""
    seen.clear()
    path = "/v1/namespaces/db/tables/t%2Fplan"
    assert raw_request(address, path, "POST", {}) == (200, {"made": "up"})
    assert seen == [f"/catalog{path}"]
