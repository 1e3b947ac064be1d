"""The resources of plans, for all kinds of catalogs."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response

from lakesieve.errors import ErrorKind, LakesieveError, NotFoundError
from lakesieve.serve.answers import error_answer
from lakesieve.serve.limits import RequestWork
from lakesieve.serve.metrics import count_failure, count_plan
from lakesieve.serve.pages import first_page, further_page
from lakesieve.serve.planning import TablePlanner

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from lakesieve.index import TablePruning
    from lakesieve.serve.catalogs import Namespace, ServedTable
    from lakesieve.serve.pages import Answer
    from lakesieve.serve.planning import PlanningContext

    Resource = tuple[str, str, Callable[[Request, Any], Response]]
    """Method, path and answer of a resource."""

# the separator between the levels of a namespace in a path
_LEVELS = "\x1f"

_log = logging.getLogger("lakesieve.serve")


def namespace_of(request: Request) -> Namespace:
    """Return the namespace that a request names.

    Raises:
        NotFoundError: No namespace can have that name.
    """
    return levels_of(request.path_params["namespace"])


def levels_of(name: str) -> Namespace:
    """Return the levels of a namespace.

    Raises:
        NotFoundError: No namespace can have that name.
    """
    levels = tuple(name.split(_LEVELS))
    if not all(map(str.strip, levels)) or "\0" in name:
        raise NotFoundError(
            f"There is no namespace {name!r}.",
            kind=ErrorKind.TABLE_NOT_FOUND,
            hint="Give each level of the namespace a name.",
        )
    return levels


def mode_settings(mode: str) -> dict[str, str]:
    """Return the setting of a catalog that says who plans; ``either`` leaves it to clients."""
    return {} if mode == "either" else {"scan-planning-mode": mode}


def plan_resources(
    path: str, context: PlanningContext, load: Callable[[Request], ServedTable]
) -> list[Resource]:
    """Return the REST resources below ``path`` that plan the scans of tables.

    ``load`` loads the table that a request names, with the rights of the caller. The server stores
    no plans, because each plan is complete when the request is answered.
    """

    def plan(request: Request, body: Any) -> Response:
        return _planned(request, body, context, first_page, load)

    def tasks(request: Request, body: Any) -> Response:
        return _planned(request, body, context, further_page, load)

    def result(request: Request, _: Any) -> Response:
        load(request)
        return error_answer(404, "NoSuchPlanIdException", "There is no such plan.")

    def cancel(request: Request, _: Any) -> Response:
        load(request)
        return Response(status_code=204)

    return [
        ("POST", f"{path}/plan", plan),
        ("GET", f"{path}/plan/{{plan_id}}", result),
        ("DELETE", f"{path}/plan/{{plan_id}}", cancel),
        ("POST", f"{path}/tasks", tasks),
    ]


def _planned(
    request: Request,
    body: Any,
    context: PlanningContext,
    answer: Callable[[TablePlanner, Any], Answer],
    load: Callable[[Request], ServedTable],
) -> Response:
    start = time.perf_counter()
    name = ".".join((*namespace_of(request), request.path_params["table"]))
    try:
        table = load(request)
        planner = TablePlanner(
            name,
            table,
            context,
            for_pyiceberg=request.headers.get("user-agent", "").startswith("PyIceberg/"),
            work=RequestWork.of(request.scope),
        )
        document, pruning = answer(planner, body)
    except LakesieveError:
        count_failure()
        raise
    seconds = time.perf_counter() - start
    count_plan(pruning, seconds, context.cache.held)
    _log_plan(name, pruning, seconds, with_filter=context.log_filters)
    if table.credentials:
        document["storage-credentials"] = table.credentials
    headers = {
        "X-Lakesieve-Files": f"{pruning.files_read}/{pruning.files_total}",
        "X-Lakesieve-Reasons": _codes(pruning),
    }
    return JSONResponse(document, headers=headers)


def _log_plan(name: str, pruning: TablePruning, seconds: float, *, with_filter: bool) -> None:
    fields: dict[str, Any] = {
        "table": name,
        "files_read": pruning.files_read,
        "files_total": pruning.files_total,
        "milliseconds": round(seconds * 1000, 1),
        "reasons": [str(reason.code) for reason in pruning.reasons],
    }
    where = ""
    if with_filter:
        fields["filter"] = pruning.predicate
        where = f" where {pruning.predicate}" if pruning.predicate else ""
    _log.info(
        "planned %s%s: %d of %d files in %.1f ms (%s)",
        name,
        where,
        pruning.files_read,
        pruning.files_total,
        seconds * 1000,
        _codes(pruning),
        extra={"fields": fields},
    )


def _codes(pruning: TablePruning) -> str:
    return ",".join(dict.fromkeys(str(reason.code) for reason in pruning.reasons))
