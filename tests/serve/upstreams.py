"""Catalogs that stand behind a server, as small as an attack on it needs them."""

from __future__ import annotations

import http.client
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

__all__ = ["answering", "raw_request", "tables_behind"]


def answering(answer: Callable[[Request], Any]) -> Starlette:
    """A catalog that answers every request by one function.

    Args:
        answer: A coroutine function of Starlette's.
    """
    methods = ["GET", "HEAD", "POST", "PUT", "DELETE"]
    return Starlette(routes=[Route("/{rest:path}", answer, methods=methods)])


def tables_behind(tables: dict[str, dict[str, Any]]) -> Starlette:
    """A catalog that gives whoever asks the tables that it has.

    Args:
        tables: What it answers for the table at each path.
    """

    async def answer(request: Request) -> Response:
        found = tables.get(request.scope["path"])
        if request.scope["path"] == "/v1/config":
            found = {"defaults": {}, "overrides": {}}
        return Response(status_code=404) if found is None else JSONResponse(found)

    return answering(answer)


def raw_request(address: str, path: str, method: str = "GET", body: Any = None) -> tuple[int, Any]:
    """Send a path exactly as it is written, which HTTP clients do not.

    Args:
        address: Of the server.
        path: The path.
        method: The method.
        body: Sent as JSON.

    Returns:
        The status, and the answer.
    """
    host = urlsplit(address)
    connection = http.client.HTTPConnection(str(host.hostname), host.port, timeout=30)
    try:
        connection.putrequest(method, path, skip_host=False, skip_accept_encoding=True)
        text = b"" if body is None else json.dumps(body).encode()
        connection.putheader("Content-Length", str(len(text)))
        connection.endheaders(text)
        answer = connection.getresponse()
        content = answer.read()
        return answer.status, json.loads(content) if content else None
    finally:
        connection.close()
