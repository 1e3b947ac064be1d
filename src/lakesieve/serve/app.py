"""The REST catalog as an ASGI application, by Iceberg's REST specification."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lakesieve.errors import (
    ErrorKind,
    InvalidInputError,
    LakesieveError,
    NotFoundError,
    StorageError,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from lakesieve.index import TablePruning
    from lakesieve.serve.catalogs import Catalog, Namespace
    from lakesieve.serve.service import Answer, PlanningService

__all__ = ["MODES", "build_app"]

MODES = ("server", "client", "either")
"""Who plans scans: this server, the client, or whom the client chooses."""

_LEVELS = "\x1f"
_LARGEST_BODY = 16 << 20
_NAMESPACE = "/v1/namespaces/{namespace}"
_TABLE = f"{_NAMESPACE}/tables/{{table}}"
_PREFIX = "/v1/{prefix}/"
_log = logging.getLogger("lakesieve.serve")


def build_app(catalog: Catalog, service: PlanningService, *, mode: str = "server") -> Starlette:
    """Build the application.

    Args:
        catalog: Whose tables are served.
        service: Plans their scans.
        mode: One of :data:`MODES`.
    """
    api = _Api(catalog, service, mode)
    routes = [
        ("GET", "/v1/config", api.config),
        ("GET", "/v1/namespaces", api.namespaces),
        ("GET", _NAMESPACE, api.namespace),
        ("HEAD", _NAMESPACE, api.namespace),
        ("GET", f"{_NAMESPACE}/tables", api.tables),
        ("GET", _TABLE, api.table),
        ("HEAD", _TABLE, api.table),
        ("POST", f"{_TABLE}/plan", api.plan),
        ("GET", f"{_TABLE}/plan/{{plan_id}}", api.plan_result),
        ("DELETE", f"{_TABLE}/plan/{{plan_id}}", api.cancel),
        ("POST", f"{_TABLE}/tasks", api.tasks),
    ]
    api.endpoints = [
        f"{method} {path.replace('/v1/', _PREFIX).replace('plan_id', 'plan-id')}"
        for method, path, _ in routes
        if path != "/v1/config"
    ]
    return Starlette(
        routes=[
            Route("/healthz", _healthy, methods=["GET"]),
            *(Route(path, _answered(act), methods=[method]) for method, path, act in routes),
        ],
        exception_handlers={
            404: lambda *_: _error(404, "NotFoundException", "There is no such resource."),
            405: lambda *_: _error(
                405, "UnsupportedOperationException", "This catalog is read-only."
            ),
            500: lambda *_: _error(500, "InternalServerError", "The server failed; see its log."),
        },
    )


class _Api:
    """The answers, each made in a thread."""

    def __init__(self, catalog: Catalog, service: PlanningService, mode: str) -> None:
        self._catalog = catalog
        self._service = service
        self._config = {} if mode == "either" else {"scan-planning-mode": mode}
        self.endpoints: list[str] = []

    def config(self, _: Request, __: Any) -> Response:
        """What clients must know first."""
        return JSONResponse(
            {"defaults": {}, "overrides": self._config, "endpoints": self.endpoints}
        )

    def namespaces(self, request: Request, _: Any) -> Response:
        """The namespaces below one."""
        parent = request.query_params.get("parent")
        found = self._catalog.namespaces(() if not parent else tuple(parent.split(_LEVELS)))
        return JSONResponse({"namespaces": [list(name) for name in found]})

    def namespace(self, request: Request, _: Any) -> Response:
        """One namespace."""
        namespace = _namespace(request)
        properties = self._catalog.properties(namespace)
        return _of(request, {"namespace": list(namespace), "properties": properties})

    def tables(self, request: Request, _: Any) -> Response:
        """The tables of a namespace."""
        namespace = _namespace(request)
        found = [
            {"namespace": list(namespace), "name": name} for name in self._catalog.tables(namespace)
        ]
        return JSONResponse({"identifiers": found})

    def table(self, request: Request, _: Any) -> Response:
        """One table."""
        loaded = self._service.load(_namespace(request), request.path_params["table"])
        document = {
            "metadata-location": loaded.path,
            "metadata": loaded.document,
            "config": {**loaded.config, **self._config},
        }
        return _of(request, document)

    def plan(self, request: Request, body: Any) -> Response:
        """A plan of a scan."""
        return _planned(request, self._service.plan, body)

    def tasks(self, request: Request, body: Any) -> Response:
        """A page of a plan."""
        return _planned(request, self._service.tasks, body)

    def plan_result(self, request: Request, _: Any) -> Response:
        """No plan is kept: each was complete when it was answered."""
        self._service.load(_namespace(request), request.path_params["table"])
        return _error(404, "NoSuchPlanIdException", "There is no such plan.")

    def cancel(self, request: Request, _: Any) -> Response:
        """There is nothing to forget."""
        self._service.load(_namespace(request), request.path_params["table"])
        return Response(status_code=204)


def _namespace(request: Request) -> Namespace:
    return tuple(request.path_params["namespace"].split(_LEVELS))


def _of(request: Request, document: dict[str, Any]) -> Response:
    return Response(status_code=204) if request.method == "HEAD" else JSONResponse(document)


def _planned(
    request: Request, plan: Callable[[Namespace, str, Any], Answer], body: Any
) -> Response:
    namespace, table = _namespace(request), request.path_params["table"]
    start = time.perf_counter()
    answer = plan(namespace, table, body)
    pruning = answer.pruning
    _log.info(
        "planned",
        extra={
            "table": ".".join((*namespace, table)),
            "files_read": pruning.files_read,
            "files_total": pruning.files_total,
            "reasons": _codes(pruning),
            "milliseconds": round((time.perf_counter() - start) * 1000, 2),
        },
    )
    headers = {
        "X-Lakesieve-Files": f"{pruning.files_read}/{pruning.files_total}",
        "X-Lakesieve-Reasons": _codes(pruning),
    }
    return JSONResponse(answer.document, headers=headers)


def _codes(pruning: TablePruning) -> str:
    return ",".join(dict.fromkeys(str(reason.code) for reason in pruning.reasons))


async def _healthy(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


def _answered(
    act: Callable[[Request, Any], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """Read the body, answer in a thread, and turn errors into answers."""

    async def answer(request: Request) -> Response:
        try:
            body = await _body(request)
            return await run_in_threadpool(act, request, body)
        except InvalidInputError as error:
            return _error(400, "BadRequestException", str(error))
        except NotFoundError as error:
            return _error(404, _missing(request, error), str(error))
        except StorageError as error:
            _log.warning("%s", error)
            return _error(503, "ServiceUnavailableException", str(error))
        except LakesieveError as error:
            return _error(406, "UnsupportedOperationException", str(error))

    return answer


def _missing(request: Request, error: NotFoundError) -> str:
    """The name that the specification gives to what is not there."""
    if "plan task" in str(error):
        return "NoSuchPlanTaskException"
    return "NoSuchTableException" if "table" in request.path_params else "NoSuchNamespaceException"


async def _body(request: Request) -> Any:
    """The body of a request as JSON; ``None`` where it has none.

    Raises:
        InvalidInputError: It is too large, or no JSON.
    """
    if request.method != "POST":
        return None
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > _LARGEST_BODY:
            raise _wrong(f"It has more than {_LARGEST_BODY} bytes.")
    try:
        return json.loads(bytes(received), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _wrong(f"It is no JSON: {error}.") from None


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is no number")


def _wrong(why: str) -> InvalidInputError:

    return InvalidInputError(
        f"The body of the request cannot be read. {why}",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint="Send what Iceberg's REST specification says.",
    )


def _error(code: int, kind: str, message: str) -> Response:
    document = {"error": {"message": message, "type": kind, "code": code}}
    return JSONResponse(document, status_code=code)
