"""The server in front of another REST catalog: requests pass through, and scans are planned here.

A caller gets plans only of tables that the catalog behind gives to that caller.
"""

from __future__ import annotations

import contextlib
import json
import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lakesieve.errors import UnsupportedError
from lakesieve.serve.answers import EXCEPTION_HANDLERS, OPERATIONS, AnswerError, answered
from lakesieve.serve.forwarding import (
    PlainPaths,
    Upstream,
    encoded,
    end_to_end,
    resource_of,
)
from lakesieve.serve.grants import TableGrants, caller_of, failed_upstream
from lakesieve.serve.guard import RequestGuard
from lakesieve.serve.limits import RequestLimits, RequestWork
from lakesieve.serve.metadata import parsed, planned_by
from lakesieve.serve.plans import mode_settings, plan_resources
from lakesieve.tables.iceberg.manifest_cache import ContentCache

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Collection, Mapping

    from starlette.requests import Request

    from lakesieve.serve.catalogs import ServedTable
    from lakesieve.serve.planning import PlanningContext

_TABLE = "/v1/{prefix:path}namespaces/{namespace}/tables/{table}"
_PLANNING = "/v1/{prefix}/namespaces/{namespace}/tables/{table}"
_ENDPOINTS = (
    f"POST {_PLANNING}/plan",
    f"GET {_PLANNING}/plan/{{plan-id}}",
    f"DELETE {_PLANNING}/plan/{{plan-id}}",
    f"POST {_PLANNING}/tasks",
)
# endpoints of a catalog that lists none, by the specification
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
_TABLE_BYTES = 256 << 20
# metadata as objects takes several times its text
_PER_BYTE = 10
# credentials that a catalog lends last longer
_FRESH_SECONDS = 300.0
# how many tables are remembered whose clients must plan
_ELSEWHERE = 10_000
_log = logging.getLogger("lakesieve.serve")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Known:
    """A table as the catalog behind gave it to one caller a short time ago."""

    etag: str
    table: ServedTable
    until: float


def build_proxy(
    upstream: str,
    context: PlanningContext,
    *,
    mode: str = "server",
    own_credentials: bool = False,
    limits: RequestLimits | None = None,
    concurrency: int | None = None,
) -> Starlette:
    """Build the application that serves another REST catalog.

    Args:
        upstream: Address of the catalog behind, without ``/v1``.
        context: What the plans of all scans share.
        mode: Who plans scans, as for :func:`lakesieve.serve.app.build_app`.
        own_credentials: Whether the server reads tables for which the catalog behind lends no
            credentials with its own: only right if every caller may read what this server may.
        limits: How long requests may take, and how large they may be.
        concurrency: How many answers are made at once.

    Raises:
        InvalidInputError: The address names no catalog, or has a user's name in it.
    """
    limits = limits or RequestLimits()
    grants = TableGrants(own_credentials=own_credentials)
    proxy = _Proxy(Upstream(upstream, limits), grants, mode_settings(mode))
    routes = [
        *OPERATIONS,
        Route("/v1/config", proxy.config, methods=["GET"]),
        *(
            Route(path, answered(proxy.remembering(act)), methods=[method])
            for method, path, act in plan_resources(_TABLE, context, proxy.granted)
        ),
        Route(_TABLE, proxy.table, methods=["GET"]),
        Route("/{rest:path}", proxy.passed, methods=["GET", "HEAD", "POST", "PUT", "DELETE"]),
    ]

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        yield
        await proxy.close()

    return Starlette(
        routes=routes,
        exception_handlers=EXCEPTION_HANDLERS,
        lifespan=lifespan,
        middleware=[
            Middleware(RequestGuard, limits=limits, concurrency=concurrency),
            Middleware(PlainPaths),
        ],
    )


class _Proxy:
    """The resources of a catalog behind, and plans of the tables that it gives to a caller."""

    def __init__(
        self, upstream: Upstream, grants: TableGrants, settings: Mapping[str, str]
    ) -> None:
        self._upstream = upstream
        self._grants = grants
        self._settings = settings
        self._known = ContentCache(_TABLE_BYTES)
        # tables whose scans turned out to be impossible to plan here
        self._planned_elsewhere = ContentCache(_ELSEWHERE)

    async def close(self) -> None:
        """Give up the connections."""
        await self._upstream.close()

    async def passed(self, request: Request) -> Response:
        """Pass a request to the catalog behind, and its answer to the client."""
        answer = await self._upstream.forward(request)
        return answer if isinstance(answer, Response) else answer.passed_on()

    async def config(self, request: Request) -> Response:
        """Answer with the configuration of the catalog behind, and that scans are planned here."""

        def change(document: dict[str, Any]) -> None:
            listed = document.get("endpoints")
            if isinstance(listed, list):
                document["endpoints"] = list(dict.fromkeys([*listed, *_ENDPOINTS]))
            else:
                document["endpoints"] = [*_DEFAULTS, *_ENDPOINTS]
            document["overrides"] = {**(document.get("overrides") or {}), **self._settings}
            # clients must come to this server, not to the address of the catalog behind
            for part in ("overrides", "defaults"):
                (document.get(part) or {}).pop("uri", None)

        return await self._changed(request, change)

    async def table(self, request: Request) -> Response:
        """Answer with a table, and say if its client must plan scans because this server cannot.

        What the catalog behind says about who plans is left out.
        """
        resource = resource_of(request)

        def change(document: dict[str, Any]) -> None:
            config = document.get("config") or {}
            # for clients it would come before the configuration of the catalog
            config.pop("scan-planning-mode", None)
            metadata = document.get("metadata")
            if isinstance(metadata, dict):
                settings = planned_by(parsed(metadata))
                if not settings and self._is_for_clients(document, resource):
                    settings = {"scan-planning-mode": "client"}
                document["config"] = {**config, **settings}

        # a client that has the table already must learn that it plans from now on
        again = self._planned_elsewhere.find((resource,)) is not None
        return await self._changed(request, change, leave_out={"if-none-match"} if again else ())

    def _is_for_clients(self, document: dict[str, Any], resource: str) -> bool:
        """Return whether clients must plan the scans of a table."""
        if self._settings.get("scan-planning-mode") != "server":
            return False
        if self._planned_elsewhere.find((resource,)) == _uuid_of(document):
            return True
        try:
            self._grants.check(document)
        except UnsupportedError as error:
            _log.info("%s", error)
            return True
        except (ValueError, TypeError, KeyError, AttributeError):
            # the answer is no table, which the client notices by itself
            return False
        return False

    async def _changed(
        self,
        request: Request,
        change: Callable[[dict[str, Any]], None],
        leave_out: Collection[str] = (),
    ) -> Response:
        """Return an answer of the catalog behind after a change of its document."""
        answer = await self._upstream.forward(request, to_read=True, leave_out=leave_out)
        if isinstance(answer, Response):
            return answer
        if answer.status_code == 200:
            with contextlib.suppress(ValueError, RecursionError):
                document = json.loads(await run_in_threadpool(answer.unpacked))
                if isinstance(document, dict):
                    await run_in_threadpool(change, document)
                    made = JSONResponse(document)
                    gone = {"content-encoding", "content-type"}
                    made.raw_headers += encoded(
                        (k, v) for k, v in answer.headers if k.lower() not in gone
                    )
                    answer.body.close()
                    return made
        return await run_in_threadpool(answer.unpacked_response)

    def granted(self, request: Request) -> ServedTable:
        """Return the table as the caller may have it, by asking the catalog behind each time.

        Raises:
            AnswerError: The catalog behind does not give it.
            StorageError: It cannot be reached, or its answer cannot be read.
            UnsupportedError: The client must plan its scans.
        """
        # the path of the table, quoted as the client wrote it
        path = resource_of(request, below=2 if "plan_id" in request.path_params else 1)
        headers = [
            (name, value)
            for name, value in end_to_end(request.headers.items())
            if name.lower() not in {"content-type", "if-none-match", "idempotency-key"}
        ]
        grant = f"{path} {caller_of(headers)}"
        known: _Known | None = self._known.find((grant,))
        if known is not None and known.until <= time.monotonic():
            known = None
        if known is not None:
            headers.append(("If-None-Match", known.etag))
        answer = self._upstream.get(path, headers, RequestWork.of(request.scope))
        with answer.body:
            if answer.status_code == 304 and known is not None:
                request.state.table = known.table
                return known.table
            if answer.status_code != 200:
                raise AnswerError(answer.unpacked_response())
            text = answer.unpacked()
        try:
            document = json.loads(text)
        except (ValueError, RecursionError):
            raise failed_upstream("sent an answer that is not JSON") from None
        table = self._grants.table(document, grant)
        request.state.table = table
        etag = dict(answer.headers).get("etag")
        if etag is not None:
            until = time.monotonic() + _FRESH_SECONDS
            known = _Known(etag=etag, table=table, until=until)
            self._known.put((grant,), known, _PER_BYTE * len(text))
        return table

    def remembering(
        self, act: Callable[[Request, Any], Response]
    ) -> Callable[[Request, Any], Response]:
        """Return a resource that remembers the table if ``act`` cannot plan its scans.

        Clients that load the table next learn that they must plan.
        """

        def answer(request: Request, body: Any) -> Response:
            try:
                return act(request, body)
            except UnsupportedError:
                table = getattr(request.state, "table", None)
                if table is not None and table.metadata is not None:
                    uuid = str(table.document.get("table-uuid"))
                    self._planned_elsewhere.put((resource_of(request, below=1),), uuid, 1)
                raise

        return answer


def _uuid_of(document: dict[str, Any]) -> str | None:
    metadata = document.get("metadata")
    return str(metadata.get("table-uuid")) if isinstance(metadata, dict) else None
