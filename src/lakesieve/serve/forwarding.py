"""Requests to the catalog behind and its answers, within limits, and nothing kept between callers.

A request is received whole before a connection is taken, and an answer is received whole before it
is passed on: a slow client holds none of the connections that others need.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import tempfile
import time
import zlib
from dataclasses import dataclass
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import IO, TYPE_CHECKING, Any, cast
from urllib.parse import unquote, unquote_to_bytes

import httpx
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from lakesieve.errors import ErrorKind, InvalidInputError, StorageError
from lakesieve.serve.answers import error_answer
from lakesieve.serve.grants import failed_upstream

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Collection, Iterable, Iterator

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
    """Refuses paths that a client or a server on the way would understand as other ones.

    The catalog behind has its base path; a caller must not leave it. Encoded slashes stay part of
    a name: they do not separate names here either.

    Args:
        app: Answers requests with plain paths.
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
    """Whether a path means the same to everybody, also after it was decoded again."""
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
    """The path of a request as the client wrote it, without its query."""
    raw: str = request.scope["raw_path"].decode("ascii")
    parts = raw.split("/")
    return "/".join(parts[: len(parts) - below])


def end_to_end(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Headers that are for the other end."""
    given = list(headers)
    named = {
        name.strip().lower()
        for header, value in given
        if header.lower() == "connection"
        for name in value.split(",")
    }
    return [(k, v) for k, v in given if k.lower() not in _HOP and k.lower() not in named]


def encoded(headers: Iterable[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI has them."""
    return [(k.lower().encode("latin-1"), v.encode("latin-1")) for k, v in headers]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class UpstreamAnswer:
    """An answer of the catalog behind, received whole.

    Args:
        status_code: Its status.
        headers: Those that are for the client.
        body: Its body, packed as it came.
        limit: Bytes that the body may take when it is unpacked.
    """

    status_code: int
    headers: list[tuple[str, str]]
    body: IO[bytes]
    limit: int

    def close(self) -> None:
        """Forget the body."""
        self.body.close()

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        """Forget the body unless all goes well."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def passed_on(self) -> Response:
        """The answer as it came."""
        self.body.seek(0)
        made = _PassedOn(self)
        made.raw_headers = encoded(self.headers)
        return made

    async def parts(self) -> AsyncIterator[bytes]:
        """The body in parts."""
        while part := self.body.read(_PART):
            yield part

    def unpacked(self) -> bytes:
        """The body as it was before it was packed.

        Raises:
            StorageError: It cannot be unpacked, or is too large.
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
                if len(whole) > self.limit:
                    raise failed_upstream("answered with a body that is too large")
                return whole
        raise failed_upstream("answered in a packing that it was not asked for")

    def unpacked_response(self) -> Response:
        """The answer, its body unpacked."""
        with contextlib.closing(self.body):
            made = Response(self.unpacked(), status_code=self.status_code)
        own = [(k, v) for k, v in made.raw_headers if k == b"content-length"]
        passed = [(k, v) for k, v in self.headers if k.lower() != "content-encoding"]
        made.raw_headers = [*own, *encoded(passed)]
        return made


class _PassedOn(StreamingResponse):
    """An answer of the catalog behind. Its body is deleted after sending, even if sending fails."""

    def __init__(self, answer: UpstreamAnswer) -> None:
        super().__init__(answer.parts(), status_code=answer.status_code)
        self._answer = answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with contextlib.closing(self._answer):
            await super().__call__(scope, receive, send)


class Upstream:
    """The catalog behind.

    Args:
        address: Its address, without ``/v1``.
        limits: How long it may take to answer, and how much.

    Raises:
        InvalidInputError: The address names no catalog, or has a user's name in it.
    """

    def __init__(self, address: str, limits: RequestLimits) -> None:
        self._address = _checked(address)
        self._limits = limits
        common: dict[str, Any] = {
            "timeout": httpx.Timeout(
                limits.upstream_seconds, connect=_CONNECT_SECONDS, pool=_POOL_SECONDS
            ),
            "limits": httpx.Limits(
                max_connections=limits.upstream_connections,
                max_keepalive_connections=_IDLE_CONNECTIONS,
            ),
            "follow_redirects": False,
            # a client that asks for no packing gets none
            "headers": {"Accept-Encoding": "identity"},
        }
        self._client = httpx.AsyncClient(**common, cookies=_no_cookies())
        self._blocking = httpx.Client(**common, cookies=_no_cookies())

    async def close(self) -> None:
        """Give up the connections."""
        self._blocking.close()
        await self._client.aclose()

    async def forward(
        self, request: Request, *, to_read: bool = False, leave_out: Collection[str] = ()
    ) -> UpstreamAnswer | Response:
        """Send a request as it came.

        Returns:
            The answer, or what to say in its place.
        """
        query: bytes = request.scope["query_string"]
        url = f"{self._address}{resource_of(request)}" + (f"?{query.decode()}" if query else "")
        body = request.stream() if request.method in {"POST", "PUT"} else None
        headers = end_to_end(request.headers.items())
        headers = [(k, v) for k, v in headers if k.lower() not in leave_out]
        headers = _readable(headers) if to_read else headers
        is_safe = request.method in {"GET", "HEAD"}
        try:
            async with asyncio.timeout(self._limits.upstream_seconds):
                sent = self._client.build_request(
                    request.method, url, headers=encoded(headers), content=body
                )
                answer = await self._client.send(sent, stream=True)
                try:
                    return await self._received(answer)
                finally:
                    await answer.aclose()
        except _NOT_SENT as error:
            return _unreachable(error)
        except (httpx.HTTPError, TimeoutError) as error:
            return _unreachable(error) if is_safe else _unknown(request)
        except StorageError as error:
            too_large = error_answer(502, "BadGatewayException", str(error))
            return too_large if is_safe else _unknown(request)

    async def _received(self, answer: httpx.Response) -> UpstreamAnswer:
        made = self._empty(answer)
        size = 0
        with made.kept():
            async for part in answer.aiter_raw(_PART):
                size += len(part)
                _check_size(size, self._limits.upstream_answer)
                if size > _IN_MEMORY:
                    await run_in_threadpool(made.body.write, part)
                else:
                    made.body.write(part)
        return made

    def get(self, path: str, headers: list[tuple[str, str]], work: RequestWork) -> UpstreamAnswer:
        """Load a resource, in a thread.

        Raises:
            StorageError: The catalog behind cannot be reached, or its answer is too large.
        """
        until = time.monotonic() + self._limits.upstream_seconds
        try:
            url = f"{self._address}{path}"
            with self._blocking.stream("GET", url, headers=encoded(_readable(headers))) as answer:
                made = self._empty(answer)
                with made.kept():
                    for part in answer.iter_raw():
                        made.body.write(part)
                        _check_size(made.body.tell(), self._limits.upstream_answer)
                        work.check()
                        if time.monotonic() > until:
                            raise failed_upstream("did not answer in time")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise failed_upstream(f"cannot be reached: {type(error).__name__}") from error
        return made

    def _empty(self, answer: httpx.Response) -> UpstreamAnswer:
        raw = answer.headers.raw
        return UpstreamAnswer(
            status_code=answer.status_code,
            headers=end_to_end((k.decode("latin-1"), v.decode("latin-1")) for k, v in raw),
            body=cast("IO[bytes]", tempfile.SpooledTemporaryFile(_IN_MEMORY)),
            limit=self._limits.upstream_answer,
        )


# the catalog behind has received nothing
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.InvalidURL)


def _checked(address: str) -> str:
    """The address of a catalog, without its version."""
    try:
        url = httpx.URL(address)
    except httpx.InvalidURL:
        url = httpx.URL("")
    if url.scheme not in {"http", "https"} or not url.host or url.userinfo or url.query:
        raise InvalidInputError(
            "The address of the catalog behind is not one such as https://catalog.example.com.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Leave out names and passwords: callers say themselves who they are.",
        )
    return address.rstrip("/").removesuffix("/v1")


def _no_cookies() -> CookieJar:
    """A jar that stores nothing: a cookie belongs to the caller whose answer set it."""
    return CookieJar(DefaultCookiePolicy(allowed_domains=[]))


def _readable(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Headers that ask for no packing but those that are unpacked here."""
    kept = [(k, v) for k, v in headers if k.lower() != "accept-encoding"]
    return [*kept, ("Accept-Encoding", "gzip")]


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise failed_upstream(f"answered with more than {most} bytes")


def _unknown(request: Request) -> Response:
    """Clients send a commit again after 502, 503 and 504, which may do it twice."""
    message = f"It is not known whether the catalog behind has done the {request.method}."
    return error_answer(500, "CommitStateUnknownException", message)


def _unreachable(error: Exception) -> Response:
    message = f"The catalog behind cannot be reached: {type(error).__name__}."
    made = error_answer(503, "ServiceUnavailableException", message)
    made.headers["Retry-After"] = "1"
    return made
