"""Requests to the catalog behind and its answers, within limits, and nothing kept between callers.

A request is received whole before a connection is taken, and an answer is received whole before it
is passed on: a slow client holds none of the connections that others need.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import tempfile
import zlib
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import IO, TYPE_CHECKING, cast
from urllib.parse import unquote, unquote_to_bytes

import httpx
from anyio import from_thread
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from lakesieve.errors import ErrorKind, InvalidInputError, StorageError
from lakesieve.serve.answers import error_answer
from lakesieve.serve.grants import failed_upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable

    from starlette.requests import Request
    from starlette.types import ASGIApp, Receive, Scope, Send

    from lakesieve.serve.limits import RequestLimits, RequestWork

# headers of one connection, not of the next
_HOP = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "proxy-connection",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_IN_MEMORY = 1 << 20
_PART = 1 << 16
_POOL_SECONDS = 10.0
_CONNECT_SECONDS = 10.0
_IDLE_CONNECTIONS = 20
# rounds of decoding that some server on the way might make
_ROUNDS = 3
_ODD = re.compile(r"[\\\x00-\x1e\x7f]|//")
_STEP = re.compile(r"(^|/)\.{1,2}(/|$|;)")


class PlainPaths:
    """Refuses paths that some client or server on the way would take for other paths.

    The catalog behind has its base path, which a caller must not leave. Encoded slashes stay part
    of a name: they do not separate names here either.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        raw: bytes = scope["raw_path"]
        if not _is_plain(raw) or not scope["query_string"].isascii():
            refusal = error_answer(
                400, "BadRequestException", "The path of the request is not a plain one."
            )
            await refusal(scope, receive, send)
            return
        whole = re.sub("%2f", "%252F", raw.decode("ascii"), flags=re.IGNORECASE)
        await self._app({**scope, "path": unquote(whole)}, receive, send)


def _is_plain(raw: bytes) -> bool:
    """Return whether a path means the same to every program, even one that decodes it again."""
    if not raw.startswith(b"/") or not raw.isascii():
        return False
    path = raw.decode("ascii")
    # the octet 0x1F stands between the levels of a namespace, encoded
    if "\x1f" in path:
        return False
    for _ in range(_ROUNDS + 1):
        if _ODD.search(path) or _STEP.search(path):
            return False
        path = unquote_to_bytes(path).decode("latin-1")
    return True


def resource_of(request: Request, *, below: int = 0) -> str:
    """Return the path of a request as the client wrote it, without the last ``below`` parts."""
    raw: str = request.scope["raw_path"].decode("ascii")
    parts = raw.split("/")
    return "/".join(parts[: len(parts) - below])


def end_to_end(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers that are not for this connection alone."""
    given = list(headers)
    named = {
        name.strip().lower()
        for header, value in given
        if header.lower() == "connection"
        for name in value.split(",")
    }
    return [(k, v) for k, v in given if k.lower() not in _HOP and k.lower() not in named]


def encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Return headers as ASGI has them."""
    return [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in headers]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UpstreamAnswer:
    """An answer of the catalog behind, received whole."""

    status_code: int
    headers: list[tuple[str, str]]  # headers for the client
    body: IO[bytes]  # the body, compressed as it came
    limit: int  # bytes that the body may have after decompression

    def passed_on(self) -> Response:
        """Return the answer as it came."""
        self.body.seek(0)
        made = _PassedOn(self)
        made.raw_headers = encoded(self.headers)
        return made

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the body in parts."""
        while part := self.body.read(_PART):
            yield part

    def unpacked(self) -> bytes:
        """Return the body after decompression.

        Raises:
            StorageError: It cannot be decompressed, or is too large.
        """
        self.body.seek(0)
        packing = next((v for k, v in self.headers if k.lower() == "content-encoding"), "identity")
        match packing.strip().lower():
            case "identity" | "":
                return self.body.read()
            case "gzip" | "x-gzip" | "deflate" as name:
                bits = zlib.MAX_WBITS | (0 if name == "deflate" else 16)
                reader = zlib.decompressobj(bits)
                try:
                    whole = reader.decompress(self.body.read(), self.limit + 1)
                except zlib.error:
                    raise failed_upstream("answered with a body that is damaged") from None
                _check_size(len(whole), self.limit)
                return whole
        raise failed_upstream("answered in a compression that it was not asked for")

    def unpacked_response(self) -> Response:
        """Return the answer with its body decompressed."""
        with self.body:
            made = Response(self.unpacked(), status_code=self.status_code)
        own = [(k, v) for k, v in made.raw_headers if k == b"content-length"]
        passed = [(k, v) for k, v in self.headers if k.lower() != "content-encoding"]
        made.raw_headers = [*own, *encoded(passed)]
        return made


class _PassedOn(StreamingResponse):
    """An answer of the catalog behind. Its body is deleted after sending, even if sending fails."""

    def __init__(self, answer: UpstreamAnswer) -> None:
        super().__init__(answer.parts(), status_code=answer.status_code)
        self._body = answer.body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._body:
            await super().__call__(scope, receive, send)


class Upstream:
    """The catalog behind.

    Raises:
        InvalidInputError: The address names no catalog, or has a user's name in it.
    """

    def __init__(self, address: str, limits: RequestLimits) -> None:
        self._address = _checked(address)
        self._limits = limits
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(
                limits.upstream_seconds, connect=_CONNECT_SECONDS, pool=_POOL_SECONDS
            ),
            limits=httpx.Limits(
                max_connections=limits.upstream_connections,
                max_keepalive_connections=_IDLE_CONNECTIONS,
            ),
            follow_redirects=False,
            # a client that asks for no compression gets none
            headers={"Accept-Encoding": "identity"},
            # a jar that stores nothing: a cookie belongs to the caller whose answer set it
            cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        )

    async def close(self) -> None:
        """Give up the connections."""
        await self._client.aclose()

    async def forward(
        self, request: Request, *, to_read: bool = False, leave_out: Collection[str] = ()
    ) -> UpstreamAnswer | Response:
        """Send a request as it came.

        Returns:
            The answer, or what to say in its place.
        """
        query: bytes = request.scope["query_string"]
        path = resource_of(request) + (f"?{query.decode()}" if query else "")
        body = request.stream() if request.method in {"POST", "PUT"} else None
        headers = end_to_end(request.headers.items())
        headers = [(k, v) for k, v in headers if k.lower() not in leave_out]
        is_safe = request.method in {"GET", "HEAD"}
        try:
            return await self._ask(
                request.method, path, _readable(headers) if to_read else headers, body
            )
        except _NOT_SENT as error:
            return _unreachable(error)
        except (httpx.HTTPError, TimeoutError) as error:
            return _unreachable(error) if is_safe else _unknown(request)
        except StorageError as error:
            too_large = error_answer(502, "BadGatewayException", str(error))
            return too_large if is_safe else _unknown(request)

    def get(self, path: str, headers: list[tuple[str, str]], work: RequestWork) -> UpstreamAnswer:
        """Get a resource from the catalog behind the server. Call this in a thread of the server.

        Raises:
            StorageError: The catalog cannot be reached, or its answer is too large.
        """
        try:
            return from_thread.run(self._ask, "GET", path, _readable(headers), None, work)
        except TimeoutError:
            raise failed_upstream("did not answer in time") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failed_upstream(f"cannot be reached: {type(error).__name__}") from error

    async def _ask(
        self,
        method: str,
        path: str,
        headers: list[tuple[str, str]],
        body: AsyncIterator[bytes] | None,
        work: RequestWork | None = None,
    ) -> UpstreamAnswer:
        """Send a request, and receive the whole answer."""
        url = f"{self._address}{path}"
        async with (
            asyncio.timeout(self._limits.upstream_seconds),
            self._client.stream(method, url, headers=encoded(headers), content=body) as answer,
        ):
            with contextlib.ExitStack() as unless_whole:
                received = unless_whole.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY))
                async for part in answer.aiter_raw(_PART):
                    if received.tell() + len(part) > _IN_MEMORY:
                        await run_in_threadpool(received.write, part)
                    else:
                        received.write(part)
                    _check_size(received.tell(), self._limits.upstream_answer)
                    if work is not None:
                        work.check()
                unless_whole.pop_all()
            raw = answer.headers.raw
            return UpstreamAnswer(
                status_code=answer.status_code,
                headers=end_to_end((k.decode("latin-1"), v.decode("latin-1")) for k, v in raw),
                body=cast("IO[bytes]", received),
                limit=self._limits.upstream_answer,
            )


# the catalog behind has received nothing
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.InvalidURL)


def _checked(address: str) -> str:
    """Return the address of a catalog without ``/v1``."""
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query:
        raise InvalidInputError(
            "The address of the catalog behind is not like https://catalog.example.com.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Leave out user names and passwords: callers send their own credentials.",
        )
    return address.rstrip("/").removesuffix("/v1")


def _readable(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return headers that accept only the compression that this server can decompress."""
    kept = [(k, v) for k, v in headers if k.lower() != "accept-encoding"]
    return [*kept, ("Accept-Encoding", "gzip")]


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise failed_upstream(f"answered with more than {most} bytes")


def _unknown(request: Request) -> Response:
    """Answer 500: clients send a commit again after 502, 503 and 504, which may do it twice."""
    message = f"It is not known whether the catalog behind has done the {request.method}."
    return error_answer(500, "CommitStateUnknownException", message)


def _unreachable(error: Exception) -> Response:
    message = f"The catalog behind the server cannot be reached: {type(error).__name__}."
    made = error_answer(503, "ServiceUnavailableException", message)
    made.headers["Retry-After"] = "1"
    return made
