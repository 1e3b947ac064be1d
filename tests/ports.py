"""Ports of this machine, for servers of the tests."""

from __future__ import annotations

import random
import socket
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import subprocess
    from pathlib import Path

__all__ = ["free_port", "listens", "wait_until_it_listens"]


# Systems give a socket without a wanted port one of 32768 and above. A server of a test that
# starts later would meet such a socket of another test, a result of Spark for example.
_PORTS = range(20_000, 32_768)
_given: set[int] = set()


def free_port() -> int:
    """A port on which nothing listens, and on which only a server that names it ever will."""
    drawn = random.SystemRandom().sample(_PORTS, 1000)
    port = next(port for port in drawn if port not in _given and _is_free(port))
    _given.add(port)
    return port


def _is_free(port: int) -> bool:
    with socket.socket() as taken:
        try:
            taken.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def listens(port: int) -> bool:
    """Whether something listens on a port."""
    with socket.socket() as tried:
        return tried.connect_ex(("127.0.0.1", port)) == 0


def wait_until_it_listens(
    server: subprocess.Popen[bytes], port: int, *, seconds: float = 120, log: Path | None = None
) -> None:
    """Wait until a process that was just started answers.

    Args:
        server: The process.
        port: Where it is to listen.
        seconds: How long that may take.
        log: Where it writes, for the error.

    Raises:
        RuntimeError: It has ended, or does not answer.
    """
    deadline = time.monotonic() + seconds
    while not listens(port):
        if server.poll() is not None or time.monotonic() > deadline:
            said = log.read_text()[-5000:] if log else ""
            raise RuntimeError(f"{server.args!r} did not start: {said}")
        time.sleep(0.05)
