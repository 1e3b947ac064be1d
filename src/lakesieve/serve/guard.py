"""Who may ask for answers, how many are made at once, and how long a client may take."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.serve.answers import error_answer
from lakesieve.serve.limits import RequestWork

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from lakesieve.serve.limits import RequestLimits

_IN_MEMORY = 1 << 20
_PART = 1 << 16

_OPEN = frozenset({"/healthz"})


def read_tokens(path: str) -> list[str]:
    """The bearer tokens in a file, one a line; empty lines and those with ``#`` first are none.

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
    # the time that a look-up takes says nothing of the token
    return hashlib.sha256(token).digest()


class Tokens:
    """Answers only callers with a bearer token; whether the server runs is open to all.

    Args:
        app: Makes the answers.
        tokens: The tokens that are good.
    """

    def __init__(self, app: ASGIApp, tokens: Iterable[str]) -> None:
        self._app = app
        self._good = frozenset(_digest(token.encode()) for token in tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["path"] in _OPEN or self._is_good(scope):
            await self._app(scope, receive, send)
            return
        refusal = error_answer(401, "NotAuthorizedException", "A bearer token is needed.")
        refusal.headers["WWW-Authenticate"] = "Bearer"
        await refusal(scope, receive, send)

    def _is_good(self, scope: Scope) -> bool:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1:
            return False
        kind, _, token = given[0].partition(b" ")
        return kind.lower() == b"bearer" and _digest(token.strip()) in self._good


class Limit:
    """Makes so many answers at once; other callers shall come again.

    Args:
        app: Makes the answers.
        most: How many.
    """

    def __init__(self, app: ASGIApp, most: int) -> None:
        self._app = app
        self._most = most
        self._now = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or scope["path"] in _OPEN:
            await self._app(scope, receive, send)
            return
        if self._now >= self._most:
            busy = error_answer(503, "ServiceUnavailableException", "Too many requests at once.")
            busy.headers["Retry-After"] = "1"
            await busy(scope, receive, send)
            return
        self._now += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._now -= 1


class _BodyTooLargeError(Exception):
    """A request's body has more bytes than it may."""


class RequestGuard:
    """Receives each request whole before it is answered, and ends work that nobody waits for.

    A client has so long to send its request, and so long to receive each part of the answer. When
    it leaves, or the server ends, the :class:`~lakesieve.serve.limits.RequestWork` of the request
    stops.

    Args:
        app: Makes the answers.
        limits: How long each step may take, and how large a body may be.
    """

    def __init__(self, app: ASGIApp, limits: RequestLimits) -> None:
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or RequestWork.is_known(scope):
            await self._app(scope, receive, send)
            return
        limits = self._limits
        with tempfile.SpooledTemporaryFile(_IN_MEMORY) as body:
            try:
                async with asyncio.timeout(limits.body_seconds):
                    is_there = await self._received(receive, body)
            except TimeoutError:
                why = f"The body of the request took longer than {limits.body_seconds:g} seconds."
                refusal = _last(408, "RequestTimeoutException", why)
                await refusal(scope, receive, send)
                return
            except _BodyTooLargeError:
                why = f"The body of the request has more than {limits.body} bytes."
                refusal = _last(413, "ContentTooLargeException", why)
                await refusal(scope, receive, send)
                return
            if is_there:
                await self._answer(scope, _Body(body, receive), send)

    async def _received(self, receive: Receive, body: tempfile.SpooledTemporaryFile[bytes]) -> bool:
        """Whether the client has sent its whole request, and not left."""
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            part = message.get("body", b"")
            size += len(part)
            if size > self._limits.body:
                raise _BodyTooLargeError
            body.write(part)
            more = message.get("more_body", False)
        body.seek(0)
        return True

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
    """The body of a request that was received, and whether its client has left since."""

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
        """The next part of the body, then that the client has left."""
        if self._is_read:
            await self.gone.wait()
            return {"type": "http.disconnect"}
        part = self._body.read(_PART)
        self._is_read = len(part) < _PART
        return {"type": "http.request", "body": part, "more_body": not self._is_read}


def _last(code: int, kind: str, why: str) -> Response:
    """The last answer on a connection: the rest of the body is not read."""
    refusal = error_answer(code, kind, why)
    refusal.headers["Connection"] = "close"
    return refusal
