"""In front of another REST catalog: all passes through it, and scans are planned here.

A caller gets a plan only of a table that the catalog behind gives to that caller.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from pyiceberg.io import load_file_io
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from lakesieve.errors import ErrorKind, StorageError
from lakesieve.serve.answers import (
    EXCEPTION_HANDLERS,
    OPERATIONS,
    AnswerError,
    answered,
    error_answer,
)
from lakesieve.serve.catalogs import ServedTable
from lakesieve.serve.metadata import parsed, planned_by
from lakesieve.serve.plans import OpenedTable, Plans
from lakesieve.store import BlockCache

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from starlette.requests import Request

    from lakesieve.serve.service import PlanningService

__all__ = ["build_proxy"]

_TABLE = "/v1/{prefix:path}namespaces/{namespace}/tables/{table}"
_PLANNING = "/v1/{prefix}/namespaces/{namespace}/tables/{table}"
_ENDPOINTS = (
    f"POST {_PLANNING}/plan",
    f"GET {_PLANNING}/plan/{{plan-id}}",
    f"DELETE {_PLANNING}/plan/{{plan-id}}",
    f"POST {_PLANNING}/tasks",
)
# what a catalog that lists no endpoints has, by the specification
_DEFAULTS = (
    "GET /v1/{prefix}/namespaces",
    "POST /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    "DELETE /v1/{prefix}/namespaces/{namespace}",
    "POST /v1/{prefix}/namespaces/{namespace}/properties",
    "GET /v1/{prefix}/namespaces/{namespace}/tables",
    "POST /v1/{prefix}/namespaces/{namespace}/tables",
    "GET /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "DELETE /v1/{prefix}/namespaces/{namespace}/tables/{table}",
    "POST /v1/{prefix}/namespaces/{namespace}/register",
    "POST /v1/{prefix}/namespaces/{namespace}/tables/{table}/metrics",
    "POST /v1/{prefix}/tables/rename",
    "POST /v1/{prefix}/transactions/commit",
)
# of one connection, not of the next
_HOP = frozenset(
    {
        "connection",
        "content-length",
        "host",
        "keep-alive",
        "proxy-authenticate",
        "proxy-authorization",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
    }
)
_TABLE_BYTES = 256 << 20
# metadata as objects takes several times its text
_PER_BYTE = 10
# credentials that a catalog lends last longer
_FRESH_SECONDS = 300.0
_SECONDS = 60.0


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Granted:
    """A table as one caller was given it."""

    etag: str | None
    opened: OpenedTable
    until: float


def build_proxy(upstream: str, service: PlanningService, *, mode: str = "server") -> Starlette:
    """Build the application.

    Args:
        upstream: Address of the catalog behind, without ``/v1``.
        service: Plans the scans.
        mode: Who plans, as for :func:`lakesieve.serve.app.build_app`.
    """
    proxy = _Proxy(upstream.rstrip("/").removesuffix("/v1"), service, mode)
    routes = [
        *OPERATIONS,
        Route("/v1/config", proxy.config, methods=["GET"]),
        *(
            Route(path, answered(act), methods=[method])
            for method, path, act in proxy.resources(_TABLE)
        ),
        Route(_TABLE, proxy.table, methods=["GET"]),
        Route("/{rest:path}", proxy.passed, methods=["GET", "HEAD", "POST", "PUT", "DELETE"]),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await proxy.close()

    return Starlette(routes=routes, exception_handlers=EXCEPTION_HANDLERS, lifespan=lifespan)


class _Proxy(Plans):
    def __init__(self, upstream: str, service: PlanningService, mode: str) -> None:
        super().__init__(service, mode)
        self._upstream = upstream
        self._client = httpx.AsyncClient(timeout=_SECONDS, follow_redirects=False)
        self._blocking = httpx.Client(timeout=_SECONDS, follow_redirects=False)
        self._granted = BlockCache(_TABLE_BYTES)

    async def close(self) -> None:
        """Give up the connections."""
        self._blocking.close()
        await self._client.aclose()

    def _url(self, request: Request) -> str:
        # as the client wrote it: what is quoted stays quoted
        raw: bytes = request.scope["raw_path"]
        query: bytes = request.scope["query_string"]
        return f"{self._upstream}{raw.decode('ascii')}" + (f"?{query.decode()}" if query else "")

    async def passed(self, request: Request) -> Response:
        """What the catalog behind answers, as it comes."""
        sent = self._client.build_request(
            request.method,
            self._url(request),
            headers=_through(request.headers.items()),
            content=request.stream() if request.method in {"POST", "PUT"} else None,
        )
        try:
            answer = await self._client.send(sent, stream=True)
        except httpx.HTTPError as error:
            return _unreachable(error)
        headers = _through(answer.headers.multi_items())
        made = StreamingResponse(
            answer.aiter_raw(),
            status_code=answer.status_code,
            background=BackgroundTask(answer.aclose),
        )
        made.raw_headers = [(k.encode("latin-1"), v.encode("latin-1")) for k, v in headers]
        return made

    async def config(self, request: Request) -> Response:
        """What the catalog behind says, and that scans can be planned here."""

        def change(document: dict[str, Any]) -> None:
            listed = document.get("endpoints")
            if isinstance(listed, list):
                document["endpoints"] = list(dict.fromkeys([*listed, *_ENDPOINTS]))
            else:
                document["endpoints"] = [*_DEFAULTS, *_ENDPOINTS]
            document["overrides"] = {**(document.get("overrides") or {}), **self.planned_by}
            # clients come here, wherever the catalog behind says that it is
            for part in ("overrides", "defaults"):
                (document.get(part) or {}).pop("uri", None)

        return await self._changed(request, change)

    async def table(self, request: Request) -> Response:
        """A table, without what the catalog behind says of who plans its scans."""

        def change(document: dict[str, Any]) -> None:
            config = document.get("config") or {}
            # before what the configuration says, for those who read both
            config.pop("scan-planning-mode", None)
            metadata = document.get("metadata")
            if isinstance(metadata, dict):
                document["config"] = {**config, **planned_by(parsed(metadata))}

        return await self._changed(request, change)

    async def _changed(
        self, request: Request, change: Callable[[dict[str, Any]], None]
    ) -> Response:
        """An answer of the catalog behind, with another document."""
        try:
            answer = await self._client.get(
                self._url(request), headers=_through(request.headers.items())
            )
        except httpx.HTTPError as error:
            return _unreachable(error)
        if answer.status_code == 200:
            with contextlib.suppress(ValueError):
                document = answer.json()
                if isinstance(document, dict):
                    await run_in_threadpool(change, document)
                    headers = dict(_of_document(answer.headers))
                    return JSONResponse(document, headers=headers)
        return _same(answer)

    def opened(self, request: Request) -> OpenedTable:
        """The table as the caller may have it, which the catalog behind says each time.

        Args:
            request: Names it.

        Raises:
            AnswerError: The catalog behind does not give it.
            StorageError: It cannot be reached, or its answer cannot be read.
        """
        # without what follows the table, in its own quoting
        parts = request.scope["raw_path"].decode("ascii").split("/")
        end = -2 if "plan_id" in request.path_params else -1
        url = f"{self._upstream}{'/'.join(parts[:end])}"
        headers = [
            (name, value)
            for name, value in _through(request.headers.items())
            if name.lower() not in {"content-type", "if-none-match", "idempotency-key"}
        ]
        secret = "\n".join(f"{name.lower()}:{value}" for name, value in sorted(headers))
        key = (url, hashlib.sha256(secret.encode()).hexdigest())
        known: _Granted | None = self._granted.find(key)
        if known is not None and known.etag is not None and known.until > time.monotonic():
            headers.append(("If-None-Match", known.etag))
        try:
            answer = self._blocking.get(url, headers=headers)
        except httpx.HTTPError as error:
            raise _failed(f"cannot be reached: {type(error).__name__}: {error}") from error
        if answer.status_code == 304 and known is not None:
            return known.opened
        if answer.status_code != 200:
            raise AnswerError(_same(answer))
        granted = _granted(answer)
        self._granted.put(key, granted, _PER_BYTE * len(answer.content))
        return granted.opened


def _granted(answer: httpx.Response) -> _Granted:
    """A table from the answer that gave it."""
    try:
        document = answer.json()
        location = str(document["metadata"]["location"])
        credentials = document.get("storage-credentials") or None
        config = {str(k): str(v) for k, v in (document.get("config") or {}).items()}
        path = str(document["metadata-location"])
        settings = _settings(config, credentials, location)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        first = str(error).partition("\n")[0]
        raise _failed(f"answered with no table that can be read: {first}") from error
    table = ServedTable(
        path=path,
        document=document["metadata"],
        metadata=parsed(document["metadata"]),
        io=load_file_io(settings, location=location),
        config=config,
    )
    return _Granted(
        etag=answer.headers.get("etag"),
        opened=OpenedTable(table=table, credentials=credentials),
        until=time.monotonic() + _FRESH_SECONDS,
    )


def _settings(config: Mapping[str, str], credentials: Any, location: str) -> dict[str, str]:
    """How the table's files are reached: by the credentials of the longest prefix."""
    fitting = [one for one in credentials or () if location.startswith(one["prefix"])]
    best: Any = max(fitting, key=lambda one: len(one["prefix"]), default={"config": {}})
    return {**config, **{str(k): str(v) for k, v in best["config"].items()}}


def _through(headers: Any) -> list[tuple[str, str]]:
    """Headers that are for the other end."""
    return [(name, value) for name, value in headers if name.lower() not in _HOP]


def _of_document(headers: httpx.Headers) -> list[tuple[str, str]]:
    """Headers of an answer whose document has changed."""
    gone = {"content-encoding", "content-type"}
    return [(k, v) for k, v in _through(headers.items()) if k.lower() not in gone]


def _same(answer: httpx.Response) -> Response:
    """An answer of the catalog behind, whose body was unpacked."""
    headers = [
        (k, v) for k, v in _through(answer.headers.items()) if k.lower() != "content-encoding"
    ]
    return Response(answer.content, status_code=answer.status_code, headers=dict(headers))


def _failed(why: str) -> StorageError:
    return StorageError(
        f"The catalog behind {why}.",
        kind=ErrorKind.STORAGE_FAILED,
        hint="Try again; the address of the catalog is the one that the server was started with.",
    )


def _unreachable(error: httpx.HTTPError) -> Response:
    message = f"The catalog behind cannot be reached: {type(error).__name__}."
    return error_answer(503, "ServiceUnavailableException", message)
