"""Checks callers, limits requests at once, and limits how long a client may take."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.serve.answers import error_answer
from lakesieve.serve.limits import RequestLimits, RequestWork

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_IN_MEMORY = 1 << 20
_PART = 1 << 16

_OPEN = frozenset({"/healthz"})


def read_tokens(path: str) -> list[str]:
    """Return the bearer tokens in a file, one a line, without empty lines and ``#`` comments.

    Raises:
        InvalidInputError: It cannot be read, or has no token.
    """
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise _unusable(path, f"cannot be read: {type(error).__name__}") from error
    tokens = [line.strip() for line in lines]
    tokens = [token for token in tokens if token and not token.startswith("#")]
    if not tokens:
        raise _unusable(path, "has no token")
    return tokens


def _unusable(path: str, why: str) -> InvalidInputError:
    return InvalidInputError(
        f"The file of tokens {path} {why}.",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint="Write a token on each line, such as `openssl rand -hex 32` makes.",
    )


def _digest(token: bytes) -> bytes:
    # digests are compared, so that the time of a look-up tells nothing about the token
    return hashlib.sha256(token).digest()


class RequestGuard:
    """Checks who calls, receives each request whole, and ends work that nobody waits for.

    Everybody may ask whether the server runs. A client has limited time to send its request, and
    to receive each part of the answer. Only a request that was received whole counts against the
    ``concurrency``. When a client leaves, or the server ends, the
    :class:`~lakesieve.serve.limits.RequestWork` of the request stops.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: RequestLimits | None = None,
        *,
        tokens: Iterable[str] | None = None,  # bearer tokens of callers; `None` lets all call
        concurrency: int | None = None,  # how many answers are made at once
    ) -> None:
        self._app = app
        self._limits = limits or RequestLimits()
        self._good = None if tokens is None else {_digest(one.encode()) for one in tokens}
        self._most = concurrency
        self._now = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        is_open = scope["path"] in _OPEN
        if not is_open and not self._is_good(scope):
            refusal = error_answer(401, "NotAuthorizedException", "A bearer token is needed.")
            refusal.headers["WWW-Authenticate"] = "Bearer"
            await refusal(scope, receive, send)
            return
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as body:
            refused = await self._received(receive, body)
            if refused is not None:
                # the rest of the body is not read
                last = error_answer(*refused)
                last.headers["Connection"] = "close"
                await last(scope, receive, send)
            elif not is_open and self._most is not None and self._now >= self._most:
                busy = error_answer(
                    503, "ServiceUnavailableException", "Too many requests at once."
                )
                busy.headers["Retry-After"] = "1"
                await busy(scope, receive, send)
            else:
                self._now += not is_open
                try:
                    await self._answer(scope, _Body(body, receive), send)
                finally:
                    self._now -= not is_open

    def _is_good(self, scope: Scope) -> bool:
        if self._good is None:
            return True
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        kind, _, token = given[0].partition(b" ")
        return kind.lower() == b"bearer" and _digest(token.strip()) in self._good

    async def _received(
        self, receive: Receive, body: tempfile.SpooledTemporaryFile[bytes]
    ) -> tuple[int, str, str] | None:
        """Receive a whole request, or return the refusal of an invalid request."""
        limits = self._limits
        size, more = 0, True
        try:
            async with asyncio.timeout(limits.body_seconds):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        return 400, "BadRequestException", "The request is not whole."
                    part = message.get("body", b"")
                    size += len(part)
                    if size > limits.body:
                        why = f"The body of the request has more than {limits.body} bytes."
                        return 413, "ContentTooLargeException", why
                    body.write(part)
                    more = message.get("more_body", False)
        except TimeoutError:
            why = f"The body of the request took longer than {limits.body_seconds:g} seconds."
            return 408, "RequestTimeoutException", why
        body.seek(0)
        return None

    async def _answer(self, scope: Scope, body: _Body, send: Send) -> None:
        work = RequestWork(self._limits.work_seconds)
        work.belongs_to(scope)

        async def watch() -> None:
            await body.gone.wait()
            work.stop()

        listening = asyncio.create_task(body.listen())
        watching = asyncio.create_task(watch())
        try:
            await self._app(scope, body.receive, lambda message: self._send(message, send))
        finally:
            work.stop()
            listening.cancel()
            watching.cancel()

    async def _send(self, message: Message, send: Send) -> None:
        """Send a message in parts, each of which the client must receive in time."""
        body = message.get("body", b"")
        for start in range(0, max(1, len(body)), _PART):
            part = dict(message)
            if body:
                is_last = start + _PART >= len(body)
                part["body"] = body[start : start + _PART]
                part["more_body"] = message.get("more_body", False) or not is_last
            async with asyncio.timeout(self._limits.send_seconds):
                await send(part)


class _Body:
    """The body of a request that was received, and whether its client has left since then."""

    def __init__(self, body: tempfile.SpooledTemporaryFile[bytes], receive: Receive) -> None:
        self._body = body
        self._receive = receive
        self._is_read = False
        self.gone = asyncio.Event()

    async def listen(self) -> None:
        """Wait until the client leaves."""
        with contextlib.suppress(Exception):
            while (await self._receive())["type"] != "http.disconnect":
                pass
        self.gone.set()

    async def receive(self) -> Message:
        """Return the next part of the body, then that the client has left."""
        if self._is_read:
            await self.gone.wait()
            return {"type": "http.disconnect"}
        part = self._body.read(_PART)
        self._is_read = len(part) < _PART
        return {"type": "http.request", "body": part, "more_body": not self._is_read}
