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

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp

__all__ = ["COMMAND", "running", "started"]

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
def running(app: ASGIApp) -> Iterator[str]:
    """Serve an application; its address."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))

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
