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
from lakesieve.serve.connections import Connection
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


async def _answer(request: Request) -> Response:
    await request.body()
    match request.scope["path"].rpartition("/")[2]:
        case "large":
            return Response(bytes(_LARGE))
        case "endless":
            return StreamingResponse(_endlessly())
        case "slow":
            return StreamingResponse(_slowly(100))
        case "short":
            return StreamingResponse(_slowly(10))
    return JSONResponse({})


async def _endlessly() -> AsyncIterator[bytes]:
    while True:
        yield bytes(1 << 20)
        await asyncio.sleep(0)


async def _slowly(parts: int) -> AsyncIterator[bytes]:
    for _ in range(parts):
        yield b" "
        await asyncio.sleep(0.1)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Of a server with few connections to the catalog behind."""
    limits = RequestLimits(
        body=1 << 20,
        body_seconds=0.5,
        send_seconds=0.5,
        upstream_seconds=2.0,
        upstream_connections=_CONNECTIONS,
        upstream_answer=2 * _LARGE,
    )
    with (
        running(answering(_answer)) as upstream,
        running(build_proxy(upstream, PlanningContext(), limits=limits)) as address,
    ):
        yield address


def _connected(address: str) -> socket.socket:
    host = urlsplit(address)
    return socket.create_connection((host.hostname, host.port), timeout=30)


@contextlib.contextmanager
def _sent(address: str, text: str, count: int = 1) -> Iterator[list[socket.socket]]:
    """Connections on which the beginning of a request was sent."""
    with contextlib.ExitStack() as stack:
        made = []
        for _ in range(count):
            one = stack.enter_context(_connected(address))
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


def _send_slowly(client: socket.socket, parts: list[bytes], pause: float = 0.05) -> None:
    for part in parts:
        client.sendall(part)
        time.sleep(pause)


class _Impatient(Connection):
    head_seconds = 0.3


_ENDLESS = [b"GET /fast HTTP/1.1\r\n", *[b"A: b\r\n"] * 40]


@pytest.mark.parametrize(
    "parts", [[], _ENDLESS, [b"GET /fast HTTP/1.1\r\nHost: x\r\n\r\n", *_ENDLESS]]
)
def test_slow_headers(parts: list[bytes]) -> None:
    """A client that never finishes the headers of a request loses its connection.

    So it does if an earlier request was answered.
    """
    with running(answering(_answer), _Impatient) as address, _connected(address) as slow:
        with contextlib.suppress(ConnectionError):
            _send_slowly(slow, parts)
        slow.settimeout(5)
        with contextlib.suppress(ConnectionResetError):
            while slow.recv(1 << 16):
                pass


@pytest.mark.parametrize("part", [b"a" * 1000, b"A: b\r\n" * 200], ids=["one", "many"])
def test_large_headers(address: str, part: bytes) -> None:
    """A client whose headers do not end is refused."""
    with _sent(address, "GET /fast HTTP/1.1") as (client,):
        with contextlib.suppress(ConnectionError):
            _send_slowly(client, [part] * 1000, 0.001)
        received = b""
        # long before the deadline for headers
        client.settimeout(10)
        with contextlib.suppress(ConnectionError):
            received = client.recv(1000)
        assert not received or received.startswith(b"HTTP/1.1 400")
        with pytest.raises(ConnectionError):
            _send_slowly(client, [b"A"] * 10)


def test_headers_of_the_next_request() -> None:
    """Slow headers do not cut the answer to an earlier request."""
    with running(answering(_answer), _Impatient) as address, _connected(address) as client:
        client.sendall(b"GET /short HTTP/1.1\r\nHost: x\r\n\r\nGET /fast HTTP/1.1\r\n")
        received = b""
        while part := client.recv(1 << 16):
            received += part
        assert received.endswith(b"0\r\n\r\n")
        assert received.count(b"1\r\n \r\n") == 10


def test_pauses_between_requests() -> None:
    """The deadline for headers does not close a connection that waits for its next request."""
    with (
        running(answering(_answer), _Impatient) as address,
        httpx.Client(base_url=address) as client,
    ):
        connections = set()
        for _ in range(3):
            answer = client.get("/fast")
            assert answer.status_code == 200
            connections.add(answer.extensions["network_stream"].get_extra_info("client_addr"))
            time.sleep(0.5)
        assert len(connections) == 1


def test_slow_readers(address: str) -> None:
    """Clients that do not read their answers hold no connection."""
    with _sent(address, "GET /large HTTP/1.1", 3 * _CONNECTIONS) as slow:
        for one in slow:
            one.sendall(b"\r\n")
        time.sleep(0.3)
        assert httpx.get(f"{address}/v1/y", timeout=20).status_code == 200
        # longer than a client may take to receive a part of its answer
        time.sleep(0.7)
        for one in slow:
            assert _received(one) < _LARGE


def _received(client: socket.socket, pause: float = 0.0) -> int:
    """Receive all that comes, with pauses, and count the bytes."""
    received = 0
    with contextlib.suppress(ConnectionError):
        while part := client.recv(1 << 20):
            received += len(part)
            time.sleep(pause)
    return received


@pytest.mark.parametrize(("waits", "is_whole"), [(0.0, True), (1.2, False)])
def test_readers_of_a_large_answer(waits: float, is_whole: bool) -> None:
    """Each part of an answer has its time: a steady reader gets all, a slow one is left."""
    limits = RequestLimits(send_seconds=0.5)
    with (
        running(RequestGuard(answering(_answer), limits)) as address,
        _sent(address, "GET /large HTTP/1.1\r\nConnection: close") as (client,),
    ):
        client.sendall(b"\r\n")
        time.sleep(waits)
        assert (_received(client, 0.005) > _LARGE) is is_whole


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


def test_an_endless_answer(address: str) -> None:
    """A catalog whose answer does not end is not heard to the end."""
    assert httpx.get(f"{address}/endless", timeout=20).status_code == 502


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
