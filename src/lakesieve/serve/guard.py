"""Who may ask for answers, and how many are made at once."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.serve.answers import error_answer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp, Receive, Scope, Send

__all__ = ["Limit", "Tokens", "read_tokens"]

_OPEN = frozenset({"/healthz"})


def read_tokens(path: str) -> list[str]:
    """The bearer tokens in a file, one a line; empty lines and those with ``#`` first are none.

    Args:
        path: The file.

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
