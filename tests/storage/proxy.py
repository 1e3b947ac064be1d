"""A way to a server that can be closed in the middle of a test."""

from __future__ import annotations

import contextlib
import socket
import threading

__all__ = ["Proxy"]


class Proxy:
    """Passes what comes to a port of its own on to another one, until it is closed.

    Args:
        port: The other port.
    """

    def __init__(self, port: int) -> None:
        self._to = port
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._server.getsockname()[1])
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near = self._server.accept()[0]
                far = socket.create_connection(("127.0.0.1", self._to))
                self._open += [near, far]
                for source, target in ((near, far), (far, near)):
                    threading.Thread(target=self._pass, args=(source, target), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                target.sendall(data)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End all connections; no other is taken."""
        for one in (self._server, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
