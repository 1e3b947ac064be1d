"""A server that runs beside the tests, in this process or in one of its own."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import httpx
import uvicorn

from lakesieve.serve.connections import Connection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp

__all__ = ["COMMAND", "Caller", "running", "started"]

COMMAND = [sys.executable, "-c", "from lakesieve.cli import main; main()", "serve"]
"""``lakesieve serve`` of this environment."""


def started(port: int, *options: str, **settings: Any) -> subprocess.Popen[str]:
    """The process of a server, once it answers.

    Args:
        port: On which it listens.
        options: Of the command, besides the port.
        settings: Of the process, as ``subprocess.Popen`` takes them.
    """
    process = subprocess.Popen([*COMMAND, "--port", str(port), *options], text=True, **settings)
    until = time.monotonic() + 60
    try:
        while True:
            with contextlib.suppress(httpx.HTTPError):
                assert httpx.get(f"http://127.0.0.1:{port}/healthz").status_code == 200
                return process
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.05)
    except BaseException:
        # nobody else has it yet
        process.kill()
        process.wait(30)
        raise


@contextlib.contextmanager
def running(app: ASGIApp, http: type[Connection] = Connection) -> Iterator[str]:
    """Serve an application; its address.

    Args:
        app: The application.
        http: What reads requests from connections.
    """
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, http=http, ws="none", log_level="warning"))

        async def serve() -> None:
            await server.serve([taken])
            # connections of clients that keep theirs are closed in the turns of the loop after that
            await asyncio.sleep(0.1)

        thread = threading.Thread(target=lambda: asyncio.run(serve()), daemon=True)
        thread.start()
        until = time.monotonic() + 30
        while not server.started:
            assert thread.is_alive()
            assert time.monotonic() < until
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join(30)


class Caller:
    """Asks an application without a server between, or one that runs; an exception is an answer.

    Args:
        app: The application, or the address of a server.
    """

    def __init__(self, app: ASGIApp | str) -> None:
        self._address = app if isinstance(app, str) else "http://server"
        self._app = None if isinstance(app, str) else app

    def request(self, method: str, path: str, **given: Any) -> httpx.Response:
        """The answer to a request.

        Args:
            method: Of the request.
            path: Of the resource.
            given: As ``httpx.request`` takes it.
        """
        if self._app is None:
            return httpx.request(method, f"{self._address}{path}", **given)
        transport = httpx.ASGITransport(self._app, raise_app_exceptions=False)

        async def ask() -> httpx.Response:
            async with httpx.AsyncClient(transport=transport, base_url=self._address) as client:
                return await client.request(method, path, **given)

        return asyncio.run(ask())

    def get(self, path: str) -> httpx.Response:
        """The answer to a GET.

        Args:
            path: Of the resource.
        """
        return self.request("GET", path)

    def post(self, path: str, *, json: Any) -> httpx.Response:
        """The answer to a POST.

        Args:
            path: Of the resource.
            json: The document that is sent.
        """
        return self.request("POST", path, json=json)
