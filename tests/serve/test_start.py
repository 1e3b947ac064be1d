"""What a server checks before it says that it serves."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from lakesieve.errors import InvalidInputError
from lakesieve.serve.run import check_certificate, check_port

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
