"""Closes connections on which the headers of a request are too slow or too large."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from lakesieve.serve.limits import RequestLimits

if TYPE_CHECKING:
    import asyncio

_LIMITS = RequestLimits()


class Connection(HttpToolsProtocol):
    """One connection of uvicorn, with limits for the headers of each request.

    uvicorn limits only the pause between an answer and the next request.
    """

    head_seconds = _LIMITS.head_seconds
    head_bytes = _LIMITS.head

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # set while headers are missing
        self._deadline: asyncio.TimerHandle | None = None
        self._received = 0

    def connection_made(self, transport: Any) -> None:
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Count the bytes of headers. What comes with the last one of them is not counted."""
        before = self._deadline
        super().data_received(data)
        if before is None or self._deadline is not before:
            return
        self._received += len(data)
        if self._received > self.head_bytes and not self.transport.is_closing():
            self.send_400_response("The headers of the request are too large.")

    def on_message_begin(self) -> None:
        """Wait for the rest of the headers."""
        super().on_message_begin()
        if self._deadline is None:
            self._wait()

    def on_headers_complete(self) -> None:
        """Start the request, which has its own deadlines."""
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._deadline = self.loop.call_later(self.head_seconds, self._end)

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
            self._received = 0

    def _end(self) -> None:
        # a client may send a request before the answer to its earlier request is complete
        cycle: Any = self.cycle  # none before the first request
        if cycle is not None and not cycle.response_complete:
            self._wait()
        else:
            self.transport.close()
