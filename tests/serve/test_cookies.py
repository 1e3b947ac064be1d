"""What one caller was told of the catalog behind is nothing to another caller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest
from starlette.responses import JSONResponse, Response
from tests.serve.running import running
from tests.serve.upstreams import answering

from lakesieve.errors import InvalidInputError
from lakesieve.serve.planning import PlanningContext
from lakesieve.serve.upstream import build_proxy

if TYPE_CHECKING:
    from starlette.requests import Request


@pytest.mark.parametrize("path", ["v1/namespaces", "v1/config", "v1/namespaces/db/tables/t/plan"])
def test_cookies_of_another_caller(path: str) -> None:
    """A cookie that the catalog sets for one caller is not sent for another."""
    callers: list[str] = []

    async def answer(request: Request) -> Response:
        who = request.headers.get("authorization") or request.cookies.get("session")
        callers.append(who or "nobody")
        made = JSONResponse({}, 200 if who else 401)
        if who:
            made.set_cookie("session", who)
        return made

    with (
        running(answering(answer)) as upstream,
        running(build_proxy(upstream, PlanningContext())) as address,
    ):
        method = "POST" if path.endswith("plan") else "GET"
        body: dict[str, str] | None = {} if method == "POST" else None
        httpx.request(method, f"{address}/{path}", json=body, headers={"Authorization": "alice"})
        refused = httpx.request(method, f"{address}/{path}", json=body)
        own = httpx.request(method, f"{address}/{path}", json=body, headers={"Cookie": "session=b"})
    assert refused.status_code == 401
    assert own.status_code != 401
    assert callers == ["alice", "nobody", "b"]


def test_headers_of_one_connection() -> None:
    """Headers that a caller's connection names as its own go no further."""
    seen: list[dict[str, str]] = []

    async def answer(request: Request) -> Response:
        seen.append(dict(request.headers))
        return JSONResponse({})

    with (
        running(answering(answer)) as upstream,
        running(build_proxy(upstream, PlanningContext())) as address,
    ):
        httpx.get(
            f"{address}/v1/x", headers={"Connection": "close, X-Hop", "X-Hop": "1", "X-A": "2"}
        )
    assert "x-hop" not in seen[0]
    assert seen[0]["x-a"] == "2"


@pytest.mark.parametrize("address", ["https://ann:secret@example.com", "example.com", "ftp://a/b"])
def test_addresses_with_authority(address: str) -> None:
    """The server has no authority of its own behind it, and no secret stands in an error."""
    with pytest.raises(InvalidInputError) as refused:
        build_proxy(address, PlanningContext())
    assert "secret" not in str(refused.value)
