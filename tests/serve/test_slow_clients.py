"""Clients and catalogs that take their time must take nothing from others."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import httpx
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from tests.ports import free_port, wait_until_it_listens
from tests.serve.running import running
from tests.serve.tables import catalog_of
from tests.serve.upstreams import answering

from lakesieve.errors import StorageError
from lakesieve.serve.guard import RequestGuard
from lakesieve.serve.limits import RequestLimits, RequestWork
from lakesieve.serve.planning import PlanningContext
from lakesieve.serve.upstream import build_proxy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from starlette.requests import Request

_CONNECTIONS = 2
_LARGE = 16 << 20
_PLAN = "POST /v1/namespaces/db/tables/t/plan HTTP/1.1"


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a server with few connections to the catalog behind."""

    async def answer(request: Request) -> Response:
        await request.body()
        match request.scope["path"].rpartition("/")[2]:
            case "large":
                return Response(bytes(_LARGE))
            case "slow":
                return StreamingResponse(_slowly())
        return JSONResponse({})

    limits = RequestLimits(
        body=1 << 20,
        body_seconds=0.5,
        send_seconds=0.5,
        upstream_seconds=2.0,
        upstream_connections=_CONNECTIONS,
        upstream_answer=2 * _LARGE,
    )
    with (
        running(answering(answer)) as upstream,
        running(build_proxy(upstream, PlanningContext(), limits=limits)) as address,
    ):
        yield address


async def _slowly() -> AsyncIterator[bytes]:
    for _ in range(100):
        yield b" "
        await asyncio.sleep(0.1)


@contextlib.contextmanager
def _sent(address: str, text: str, count: int = 1) -> Iterator[list[socket.socket]]:
    """Connections on which the beginning of a request was sent."""
    host = urlsplit(address)
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            one = stack.enter_context(
                socket.create_connection((host.hostname, host.port), timeout=30)
            )
            one.sendall(f"{text}\r\nHost: x\r\n".encode())
            made.append(one)
        yield made


def test_slow_requests(address: str) -> None:
    """Clients that never finish their requests hold no connection, and are told to leave."""
    with _sent(address, "POST /v1/x HTTP/1.1", 3 * _CONNECTIONS) as slow:
        for one in slow:
            one.sendall(b"Content-Length: 10\r\n\r\n{")
        time.sleep(0.1)
        assert httpx.get(f"{address}/v1/y", timeout=20).status_code == 200
        for one in slow:
            one.settimeout(5)
            assert one.recv(100).startswith(b"HTTP/1.1 408")


def test_slow_readers(address: str) -> None:
    """Clients that do not read their answers hold no connection."""
    with _sent(address, "GET /large HTTP/1.1", 3 * _CONNECTIONS) as slow:
        for one in slow:
            one.sendall(b"\r\n")
        time.sleep(0.3)
        assert httpx.get(f"{address}/v1/y", timeout=20).status_code == 200


@pytest.mark.parametrize("body", [b" " * (2 << 20), iter([b" " * (1 << 20)] * 3)])
def test_large_requests(address: str, body: Any) -> None:
    """A request that is larger than it may be is refused, however it comes."""
    with contextlib.suppress(httpx.WriteError, httpx.RemoteProtocolError):
        answer = httpx.post(f"{address}/v1/x", content=body, timeout=10)
        assert answer.status_code == 413


@pytest.mark.parametrize("path", ["slow", "v1/namespaces/db/tables/slow/plan"])
def test_a_slow_catalog(address: str, path: str) -> None:
    """A catalog that sends its answer a byte at a time is not waited for."""
    method = "POST" if path.endswith("plan") else "GET"
    start = time.monotonic()
    body = b"{}" if method == "POST" else None
    answer = httpx.request(method, f"{address}/{path}", content=body, timeout=20)
    assert answer.status_code == 503
    assert answer.json()["error"]["type"] == "ServiceUnavailableException"
    # the whole answer would take ten seconds
    assert time.monotonic() - start < 8


def test_large_answers(address: str) -> None:
    """An answer comes as the catalog sent it."""
    assert httpx.get(f"{address}/large", timeout=20).content == bytes(_LARGE)


def test_a_client_that_leaves() -> None:
    """Work for a client ends when it leaves, and work that takes too long ends by itself."""
    ended = threading.Event()

    def act(request: Request) -> Response:
        work = RequestWork.of(request.scope)
        try:
            for _ in range(1000):
                time.sleep(0.01)
                work.check()
        except StorageError as error:
            ended.set()
            return Response(str(error), 503)
        return Response("done")

    app = Starlette(routes=[Route("/work", act)])
    with running(RequestGuard(app, RequestLimits())) as address:
        with _sent(address, "GET /work HTTP/1.1") as (client,):
            client.sendall(b"\r\n")
            time.sleep(0.1)
            assert not ended.is_set()
        assert ended.wait(3)
    with running(RequestGuard(app, RequestLimits(work_seconds=0.1))) as address:
        assert httpx.get(f"{address}/work").status_code == 503


def test_shutdown(tmp_path: Path) -> None:
    """A server that is told to end does so in time, whatever its clients do."""
    catalog_of(tmp_path, "db.t", 1)
    port = free_port()
    code = (
        "from lakesieve.serve.run import serve\n"
        "from lakesieve.serve.settings import ServerSettings\n"
        f"serve(ServerSettings(warehouse={str(tmp_path)!r}, port={port}, shutdown_seconds=1))"
    )
    with subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL) as process:
        try:
            wait_until_it_listens(process, port)
            with _sent(f"http://127.0.0.1:{port}", _PLAN) as (client,):
                client.sendall(b"Content-Length: 10\r\n\r\n{")
                time.sleep(0.2)
                process.terminate()
                process.wait(10)
        finally:
            process.kill()
