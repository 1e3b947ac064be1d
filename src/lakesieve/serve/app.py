"""A REST catalog of its own over another kind of catalog, by Iceberg's REST specification."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lakesieve.serve.answers import (
    EXCEPTION_HANDLERS,
    OPERATIONS,
    answered,
    error_answer,
    plan_answer,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from lakesieve.serve.catalogs import Catalog, Namespace
    from lakesieve.serve.planning import TablePlanner
    from lakesieve.serve.service import Answer, PlanningService

__all__ = ["MODES", "build_app"]

MODES = ("server", "client", "either")
"""Who plans scans: this server, the client, or whom the client chooses."""

_LEVELS = "\x1f"
_NAMESPACE = "/v1/namespaces/{namespace}"
_TABLE = f"{_NAMESPACE}/tables/{{table}}"


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
        ("POST", _TABLE, api.commit),
        ("POST", f"{_TABLE}/plan", api.plan),
        ("GET", f"{_TABLE}/plan/{{plan_id}}", api.plan_result),
        ("DELETE", f"{_TABLE}/plan/{{plan_id}}", api.cancel),
        ("POST", f"{_TABLE}/tasks", api.tasks),
    ]
    api.endpoints = [
        f"{method} {path.replace('/v1/', '/v1/{prefix}/').replace('plan_id', 'plan-id')}"
        for method, path, act in routes
        # clients send no commits where these are not listed
        if path != "/v1/config" and (act != api.commit or catalog.takes_commits)
    ]
    made = [Route(path, answered(act), methods=[method]) for method, path, act in routes]
    return Starlette(
        routes=[*OPERATIONS, *made],
        exception_handlers=EXCEPTION_HANDLERS,
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
        loaded = self._catalog.load(_namespace(request), request.path_params["table"])
        document = {
            "metadata-location": loaded.path,
            "metadata": loaded.document,
            "config": {**loaded.config, **self._config},
        }
        return _of(request, document)

    def commit(self, request: Request, body: Any) -> Response:
        """A table, changed."""
        table = request.path_params["table"]
        changed = self._catalog.commit(_namespace(request), table, body)
        return JSONResponse({"metadata-location": changed.path, "metadata": changed.document})

    def plan(self, request: Request, body: Any) -> Response:
        """A plan of a scan."""
        return self._planned(request, self._service.plan, body)

    def tasks(self, request: Request, body: Any) -> Response:
        """A page of a plan."""
        return self._planned(request, self._service.tasks, body)

    def _planned(
        self, request: Request, plan: Callable[[TablePlanner, Any], Answer], body: Any
    ) -> Response:
        start = time.perf_counter()
        namespace, table = _namespace(request), request.path_params["table"]
        name = ".".join((*namespace, table))
        path = self._catalog.path(namespace, table)
        planner = self._service.planner(name, path, lambda: self._catalog.load(namespace, table))
        answer = plan(planner, body)
        return plan_answer(name, answer, time.perf_counter() - start)

    def plan_result(self, request: Request, _: Any) -> Response:
        """No plan is kept: each was complete when it was answered."""
        self._catalog.load(_namespace(request), request.path_params["table"])
        return error_answer(404, "NoSuchPlanIdException", "There is no such plan.")

    def cancel(self, request: Request, _: Any) -> Response:
        """There is nothing to forget."""
        self._catalog.load(_namespace(request), request.path_params["table"])
        return Response(status_code=204)


def _namespace(request: Request) -> Namespace:
    return tuple(request.path_params["namespace"].split(_LEVELS))


def _of(request: Request, document: dict[str, Any]) -> Response:
    return Response(status_code=204) if request.method == "HEAD" else JSONResponse(document)
