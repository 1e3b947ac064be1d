"""Plans for the tables of a catalog, what is kept between requests, and pages of large plans."""

from __future__ import annotations

import base64
import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakesieve.engines.engine_scans import FilePruner
from lakesieve.errors import ErrorKind, NotFoundError, UnsupportedError
from lakesieve.serve.limits import PlanLimits
from lakesieve.serve.planning import TablePlanner
from lakesieve.serve.requests import ScanRequest, parse_json
from lakesieve.tables.iceberg.manifest_cache import ManifestCache

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakesieve.index import TablePruning
    from lakesieve.serve.bounds import TableBounds
    from lakesieve.serve.catalogs import ServedTable
    from lakesieve.serve.limits import RequestWork
    from lakesieve.serve.planning import Page, ScanPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a request for a plan or a page of one.

    Args:
        document: As the specification has it.
        pruning: What was left out.
    """

    document: dict[str, Any]
    pruning: TablePruning


class PlanningService:
    """Plans scans, and keeps what the next plan needs.

    Args:
        locations: Further roots to search for indexes.
        memory: Bytes of manifests that are kept.
        tasks: How many tasks one answer has at most.
        log_filters: Whether the log has the filters of plans, with their values.
        limits: The largest filters and manifests for which scans are planned.
    """

    def __init__(
        self,
        *,
        locations: Iterable[str] = (),
        memory: int = 1 << 30,
        tasks: int = 10_000,
        log_filters: bool = False,
        limits: PlanLimits | None = None,
    ) -> None:
        self.log_filters = log_filters
        self._pruner = FilePruner(locations)
        self._cache = ManifestCache.of(memory)
        self._tasks = tasks
        self._limits = limits or PlanLimits()

    @property
    def held(self) -> int:
        """Bytes that are kept of manifests."""
        return self._cache.held

    def planner(
        self,
        name: str,
        table: ServedTable,
        *,
        for_pyiceberg: bool = False,
        grant: str = "",
        bounds: TableBounds | None = None,
        work: RequestWork | None = None,
    ) -> TablePlanner:
        """Make what plans the scans of a table.

        Raises:
            UnsupportedError: The table has a type or a feature that is not known here.
        """
        if table.metadata is None:
            raise UnsupportedError(
                f"Scans of {name} are not planned here: it has a type or a feature that this "
                "server does not know.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Let the client plan them, by scan-planning-mode=client.",
            )
        return TablePlanner(
            name,
            table.metadata,
            table.io,
            self._pruner,
            self._cache,
            for_pyiceberg=for_pyiceberg,
            grant=grant,
            bounds=bounds,
            limits=self._limits,
            work=work,
        )

    def plan(self, planner: TablePlanner, body: Any) -> Answer:
        """Plan a scan.

        Raises:
            InvalidInputError: The body is no request for a plan.
            NotFoundError: There is no such snapshot.
        """
        request = ScanRequest.parse(body)
        plan = planner.plan(request, tasks=self._tasks_of(request))
        # nothing is kept under it
        document = {"status": "completed", "plan-id": uuid.uuid4().hex}
        # the snapshot of now is that of all pages
        at = {} if request.end_snapshot_id is not None else {"snapshot-id": plan.snapshot_id}
        return self._answer(document, {**body, **at}, plan)

    def tasks(self, planner: TablePlanner, body: Any) -> Answer:
        """Plan one page of a scan.

        Raises:
            InvalidInputError: The body names no page.
            NotFoundError: There is no such snapshot.
        """
        body, page = _page_of(body.get("plan-task") if isinstance(body, dict) else None)
        request = ScanRequest.parse(body)
        plan = planner.plan(request, page=page, tasks=self._tasks_of(request))
        return self._answer({}, body, plan)

    def _tasks_of(self, request: ScanRequest) -> int:
        """How many tasks an answer has at most; each repeats the filter."""
        if request.filter is None:
            return self._tasks
        size = len(json.dumps(request.filter))
        return max(1, min(self._tasks, self._limits.answer // size))

    def _answer(self, document: dict[str, Any], body: dict[str, Any], plan: ScanPlan) -> Answer:
        document["file-scan-tasks"] = plan.tasks
        if plan.deletes:
            document["delete-files"] = plan.deletes
        if plan.pages:
            # each page repeats the request
            most = max(1, self._limits.answer // len(json.dumps(body)))
            step = -(-len(plan.pages) // most)
            starts = plan.pages[::step]
            ends = [*(page[0] for page in starts[1:]), plan.pages[-1][1]]
            pages = [(page[0], end, page[2]) for page, end in zip(starts, ends, strict=True)]
            document["plan-tasks"] = [_token(body, page) for page in pages]
        return Answer(document=document, pruning=plan.pruning)


def _token(body: dict[str, Any], page: Page) -> str:
    """A page in the words of its request, so that nothing is kept of it."""
    text = json.dumps({"request": body, "files": page}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode()


def _page_of(token: Any) -> tuple[Any, Page]:
    try:
        content = parse_json(base64.urlsafe_b64decode(token))
        page, body = tuple(content["files"]), content["request"]
    except (ValueError, TypeError, KeyError, RecursionError):
        page, body = (), None
    if len(page) != 3 or not all(type(one) is int and 0 <= one < 1 << 60 for one in page):
        raise NotFoundError(
            "There is no such plan task.",
            kind=ErrorKind.OBJECT_NOT_FOUND,
            hint="Plan the scan again.",
        )
    return body, page
