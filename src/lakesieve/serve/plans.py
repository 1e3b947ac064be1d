"""The resources of plans, whichever catalog a table is of."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response

from lakesieve.errors import ErrorKind, LakesieveError, NotFoundError
from lakesieve.serve.answers import error_answer
from lakesieve.serve.limits import RequestWork
from lakesieve.serve.metrics import count_failure, count_plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.requests import Request

    from lakesieve.index import TablePruning
    from lakesieve.serve.bounds import TableBounds
    from lakesieve.serve.catalogs import Namespace, ServedTable
    from lakesieve.serve.planning import TablePlanner
    from lakesieve.serve.service import Answer, PlanningService

    Resource = tuple[str, str, Callable[[Request, Any], Response]]
    """Method, path and answer of a resource."""

# what stands between the levels of a namespace
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
            hint="Each of its levels has a name.",
        )
    return levels


def mode_settings(mode: str) -> dict[str, str]:
    """Return what the configuration says of who plans: ``server``, ``client`` or ``either``."""
    return {} if mode == "either" else {"scan-planning-mode": mode}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class OpenedTable:
    """A table as the caller may have it.

    Args:
        table: The table.
        credentials: Those that belong to a plan of it, as the specification has them.
        grant: Names who may use what is kept of the table's files; by default every caller may.
        bounds: The folder in which its files must lie; ``None`` where every path is trusted.
    """

    table: ServedTable
    credentials: Any = None
    grant: str = ""
    bounds: TableBounds | None = None


def plan_resources(
    path: str, service: PlanningService, opened: Callable[[Request], OpenedTable]
) -> list[Resource]:
    """Return the resources of the plans of a table; no plan is kept.

    Args:
        path: The path of the table.
        service: Plans the scans.
        opened: Opens the table that a request names.
    """

    def plan(request: Request, body: Any) -> Response:
        return _planned(request, body, service, service.plan, opened)

    def tasks(request: Request, body: Any) -> Response:
        return _planned(request, body, service, service.tasks, opened)

    def result(request: Request, _: Any) -> Response:
        # each plan was complete when it was answered
        opened(request)
        return error_answer(404, "NoSuchPlanIdException", "There is no such plan.")

    def cancel(request: Request, _: Any) -> Response:
        # there is nothing to forget
        opened(request)
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
    service: PlanningService,
    make: Callable[[TablePlanner, Any], Answer],
    opened: Callable[[Request], OpenedTable],
) -> Response:
    start = time.perf_counter()
    name = ".".join((*namespace_of(request), request.path_params["table"]))
    try:
        table = opened(request)
        planner = service.planner(
            name,
            table.table,
            for_pyiceberg=request.headers.get("user-agent", "").startswith("PyIceberg/"),
            grant=table.grant,
            bounds=table.bounds,
            work=RequestWork.of(request.scope),
        )
        answer = make(planner, body)
    except LakesieveError:
        count_failure()
        raise
    seconds, pruning = time.perf_counter() - start, answer.pruning
    count_plan(pruning, seconds, service.held)
    _say(name, pruning, seconds, with_filter=service.log_filters)
    headers = {
        "X-Lakesieve-Files": f"{pruning.files_read}/{pruning.files_total}",
        "X-Lakesieve-Reasons": _codes(pruning),
    }
    more = {"storage-credentials": table.credentials} if table.credentials else {}
    return JSONResponse({**answer.document, **more}, headers=headers)


def _say(name: str, pruning: TablePruning, seconds: float, *, with_filter: bool) -> None:
    """Log a plan, of its filter no more than is wanted."""
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
