"""What a server checks before it says that it serves."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import pytest
import uvicorn
from tests.ports import free_port

from lakesieve.errors import InvalidInputError
from lakesieve.serve.connections import Connection
from lakesieve.serve.run import check_certificate, check_port, serve
from lakesieve.serve.settings import ServerSettings

if TYPE_CHECKING:
    from pathlib import Path


def test_a_port_in_use() -> None:
    """The error names the port and another one."""
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        with pytest.raises(InvalidInputError, match=f"--port {port + 1}"):
            check_port("127.0.0.1", port)
    # a port that has just been left is free
    check_port("127.0.0.1", port)


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
def test_an_address_of_another_machine(host: str) -> None:
    """The server cannot listen there."""
    with pytest.raises(InvalidInputError, match="an address of this machine"):
        check_port(host, 8181)


def test_a_certificate_that_cannot_be_used(tmp_path: Path) -> None:
    """The error names the file; a key alone is no certificate."""
    (tmp_path / "server.pem").write_text("nothing")

    check_certificate(None, None)
    for certificate in ("server.pem", "missing.pem"):
        with pytest.raises(InvalidInputError, match=certificate):
            check_certificate(str(tmp_path / certificate), None)
    with pytest.raises(InvalidInputError, match="--certificate"):
        check_certificate(None, "server.key")


def test_what_uvicorn_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server has connections with limits for headers, and a deadline for its end."""
    told: dict[str, Any] = {}
    monkeypatch.setattr(uvicorn, "run", lambda _, **options: told.update(options))
    # where the settings are left for worker processes
    monkeypatch.setenv("LAKESIEVE_SERVE", "")

    serve(ServerSettings(warehouse=str(tmp_path), port=free_port(), shutdown_seconds=7))

    assert told["http"] is Connection
    assert told["timeout_graceful_shutdown"] == 7
