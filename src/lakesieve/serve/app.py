"""The server as a REST catalog over another kind of catalog, by Iceberg's specification."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lakesieve.serve.answers import EXCEPTION_HANDLERS, OPERATIONS, answered
from lakesieve.serve.bounds import TableBounds
from lakesieve.serve.guard import RequestGuard
from lakesieve.serve.metadata import planned_by
from lakesieve.serve.plans import levels_of, mode_settings, namespace_of, plan_resources

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from starlette.requests import Request

    from lakesieve.serve.catalogs import Catalog, ServedTable
    from lakesieve.serve.limits import RequestLimits
    from lakesieve.serve.planning import PlanningContext

_NAMESPACE = "/v1/namespaces/{namespace}"
_TABLE = f"{_NAMESPACE}/tables/{{table}}"


def build_app(
    catalog: Catalog,
    context: PlanningContext,
    *,
    mode: str = "server",
    limits: RequestLimits | None = None,
    tokens: Iterable[str] | None = None,
    concurrency: int | None = None,
) -> Starlette:
    """Build the application that serves a catalog.

    Args:
        catalog: The catalog.
        context: What the plans of all scans share.
        mode: Who plans scans: ``server``, ``client`` or ``either``.
        limits: How long requests may take, and how large they may be.
        tokens: The bearer tokens of callers; ``None`` lets all call.
        concurrency: How many answers are made at once.
    """
    api = _CatalogApi(catalog, mode_settings(mode))
    routes = [
        ("GET", "/v1/config", api.config),
        ("GET", "/v1/namespaces", api.namespaces),
        ("GET", _NAMESPACE, api.namespace),
        ("HEAD", _NAMESPACE, api.namespace),
        ("GET", f"{_NAMESPACE}/tables", api.tables),
        ("GET", _TABLE, api.table),
        ("HEAD", _TABLE, api.table),
        ("POST", _TABLE, api.commit),
        *plan_resources(_TABLE, context, api.bounded),
    ]
    api.endpoints = [
        f"{method} {path.replace('/v1/', '/v1/{prefix}/').replace('plan_id', 'plan-id')}"
        for method, path, act in routes
        # clients send no commits where these are not listed
        if path != "/v1/config" and (act != api.commit or catalog.takes_commits)
    ]
    made = [Route(path, answered(act), methods=[method]) for method, path, act in routes]
    guard = Middleware(RequestGuard, limits=limits, tokens=tokens, concurrency=concurrency)
    return Starlette(
        routes=[*OPERATIONS, *made], exception_handlers=EXCEPTION_HANDLERS, middleware=[guard]
    )


class _CatalogApi:
    """Request handlers of the REST catalog. Each handler runs in a worker thread."""

    def __init__(self, catalog: Catalog, settings: Mapping[str, str]) -> None:
        self._catalog = catalog
        self._settings = settings
        self.endpoints: list[str] = []

    def bounded(self, request: Request) -> ServedTable:
        """Load the table that a request names, and the folder in which its files must lie."""
        table = self._loaded(request)
        if not self._catalog.takes_commits:
            return table
        # a caller may have written the manifest list, which may name any file as a manifest
        bounds = TableBounds(str(table.document["location"]), of_data=False)
        return replace(table, bounds=bounds)

    def _loaded(self, request: Request) -> ServedTable:
        return self._catalog.load(namespace_of(request), request.path_params["table"])

    def config(self, _: Request, __: Any) -> Response:
        """Answer with what clients must know first."""
        return JSONResponse(
            {"defaults": {}, "overrides": self._settings, "endpoints": self.endpoints}
        )

    def namespaces(self, request: Request, _: Any) -> Response:
        """Answer with the namespaces below one."""
        parent = request.query_params.get("parent")
        found = self._catalog.namespaces(() if not parent else levels_of(parent))
        return JSONResponse({"namespaces": [list(name) for name in found]})

    def namespace(self, request: Request, _: Any) -> Response:
        """Answer with one namespace."""
        namespace = namespace_of(request)
        properties = self._catalog.properties(namespace)
        return _of(request, {"namespace": list(namespace), "properties": properties})

    def tables(self, request: Request, _: Any) -> Response:
        """Answer with the tables of a namespace."""
        namespace = namespace_of(request)
        found = [
            {"namespace": list(namespace), "name": name} for name in self._catalog.tables(namespace)
        ]
        return JSONResponse({"identifiers": found})

    def table(self, request: Request, _: Any) -> Response:
        """Answer with one table."""
        loaded = self._loaded(request)
        document = {
            "metadata-location": loaded.path,
            "metadata": loaded.document,
            "config": planned_by(loaded.metadata),
        }
        return _of(request, document)

    def commit(self, request: Request, body: Any) -> Response:
        """Change a table."""
        table = request.path_params["table"]
        changed = self._catalog.commit(namespace_of(request), table, body)
        return JSONResponse({"metadata-location": changed.path, "metadata": changed.document})


def _of(request: Request, document: dict[str, Any]) -> Response:
    return Response(status_code=204) if request.method == "HEAD" else JSONResponse(document)
