"""The resources of plans, whichever catalog a table is of."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse, Response

from lakesieve.errors import ErrorKind, LakesieveError, NotFoundError, UnsupportedError
from lakesieve.serve.answers import error_answer
from lakesieve.serve.limits import RequestWork
from lakesieve.serve.metrics import count_failure, count_plan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from starlette.requests import Request

    from lakesieve.index import TablePruning
    from lakesieve.serve.bounds import TableBounds
    from lakesieve.serve.catalogs import Namespace, ServedTable
    from lakesieve.serve.planning import TablePlanner
    from lakesieve.serve.service import Answer, PlanningService

# what stands between the levels of a namespace
_LEVELS = "\x1f"

_log = logging.getLogger("lakesieve.serve")


def namespace_of(request: Request) -> Namespace:
    """The namespace that a request names.

    Raises:
        NotFoundError: No namespace can have that name.
    """
    return levels_of(request.path_params["namespace"])


def levels_of(name: str) -> Namespace:
    """The levels of a namespace.

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


class Plans(ABC):
    """Plans and their pages; none is kept.

    Args:
        service: Plans the scans.
        mode: Who plans them: ``server``, ``client`` or ``either``.
    """

    def __init__(self, service: PlanningService, mode: str) -> None:
        self._service = service
        self.planned_by = {} if mode == "either" else {"scan-planning-mode": mode}
        """What the configuration says of who plans."""

    @abstractmethod
    def opened(self, request: Request) -> OpenedTable:
        """The table that a request names.

        Raises:
            NotFoundError: There is no such table.
            AnswerError: The caller gets another answer.
        """

    def resources(
        self, table: str
    ) -> Sequence[tuple[str, str, Callable[[Request, Any], Response]]]:
        """Method, path and answer of each resource."""
        return (
            ("POST", f"{table}/plan", self._plan),
            ("GET", f"{table}/plan/{{plan_id}}", self._plan_result),
            ("DELETE", f"{table}/plan/{{plan_id}}", self._cancel),
            ("POST", f"{table}/tasks", self._tasks),
        )

    def _plan(self, request: Request, body: Any) -> Response:
        return self._planned(request, self._service.plan, body)

    def _tasks(self, request: Request, body: Any) -> Response:
        return self._planned(request, self._service.tasks, body)

    def _plan_result(self, request: Request, _: Any) -> Response:
        """Each plan was complete when it was answered."""
        self.opened(request)
        return error_answer(404, "NoSuchPlanIdException", "There is no such plan.")

    def _cancel(self, request: Request, _: Any) -> Response:
        """There is nothing to forget."""
        self.opened(request)
        return Response(status_code=204)

    def _planned(
        self, request: Request, plan: Callable[[TablePlanner, Any], Answer], body: Any
    ) -> Response:
        start = time.perf_counter()
        name = ".".join((*namespace_of(request), request.path_params["table"]))
        try:
            opened = self.opened(request)
            for_pyiceberg = request.headers.get("user-agent", "").startswith("PyIceberg/")
            planner = self._service.planner(
                name,
                opened.table,
                for_pyiceberg=for_pyiceberg,
                grant=opened.grant,
                bounds=opened.bounds,
                work=RequestWork.of(request.scope),
            )
            answer = self._made(request, opened, lambda: plan(planner, body))
        except LakesieveError:
            count_failure()
            raise
        seconds = time.perf_counter() - start
        pruning = answer.pruning
        count_plan(pruning, seconds, self._service.held)
        self._say(name, pruning, seconds)
        headers = {
            "X-Lakesieve-Files": f"{pruning.files_read}/{pruning.files_total}",
            "X-Lakesieve-Reasons": _codes(pruning),
        }
        more = {"storage-credentials": opened.credentials} if opened.credentials else {}
        return JSONResponse({**answer.document, **more}, headers=headers)

    def _made(self, request: Request, opened: OpenedTable, make: Callable[[], Answer]) -> Answer:
        try:
            return make()
        except UnsupportedError:
            self.refused(request, opened)
            raise

    def refused(self, request: Request, opened: OpenedTable) -> None:  # noqa: B027
        """Learn that the scans of a table cannot be planned."""

    def _say(self, name: str, pruning: TablePruning, seconds: float) -> None:
        """Log a plan, of its filter no more than is wanted."""
        fields: dict[str, Any] = {
            "table": name,
            "files_read": pruning.files_read,
            "files_total": pruning.files_total,
            "milliseconds": round(seconds * 1000, 1),
            "reasons": [str(reason.code) for reason in pruning.reasons],
        }
        where = ""
        if self._service.log_filters:
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
