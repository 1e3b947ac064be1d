"""Plans for the tables of a catalog, what is kept between requests, and pages of large plans."""

from __future__ import annotations

import base64
import json
import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakesieve.engines.pruning import FilePruner
from lakesieve.errors import ErrorKind, NotFoundError, UnsupportedError
from lakesieve.serve.kept import Tiers
from lakesieve.serve.planning import TablePlanner
from lakesieve.serve.requests import ScanRequest, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakesieve.index import TablePruning
    from lakesieve.serve.catalogs import ServedTable
    from lakesieve.serve.planning import Page, ScanPlan

__all__ = ["Answer", "PlanningService"]

_MEMORY = 1 << 30
_TASKS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a request for tasks.

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
    """

    def __init__(
        self,
        *,
        locations: Iterable[str] = (),
        memory: int = _MEMORY,
        tasks: int = _TASKS,
        log_filters: bool = False,
    ) -> None:
        self.log_filters = log_filters
        self._pruner = FilePruner(locations)
        self._kept = Tiers.of(memory)
        self._tasks = tasks

    @property
    def held(self) -> int:
        """Bytes that are kept of manifests."""
        return self._kept.small.held + self._kept.large.held

    def planner(
        self, name: str, table: ServedTable, *, for_pyiceberg: bool = False
    ) -> TablePlanner:
        """What plans the scans of a table.

        Args:
            name: The table's name.
            table: The table as it is now.
            for_pyiceberg: Whether PyIceberg reads the plans.

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
            self._kept,
            for_pyiceberg=for_pyiceberg,
        )

    def plan(self, planner: TablePlanner, body: Any) -> Answer:
        """Plan a scan.

        Args:
            planner: Of the table.
            body: The request, as JSON gives it.

        Raises:
            InvalidInputError: It is none.
            NotFoundError: There is no such snapshot.
        """
        request = ScanRequest.parse(body)
        plan = planner.plan(request, tasks=self._tasks)
        # nothing is kept under it
        document = {"status": "completed", "plan-id": uuid.uuid4().hex, **_documents(plan)}
        if plan.pages:
            # the snapshot of now is that of all pages
            at = {} if request.end_snapshot_id is not None else {"snapshot-id": plan.snapshot_id}
            document["plan-tasks"] = [_token({**body, **at}, page) for page in plan.pages]
        return Answer(document=document, pruning=plan.pruning)

    def tasks(self, planner: TablePlanner, body: Any) -> Answer:
        """Plan one page of a scan.

        Args:
            planner: Of the table.
            body: The request, as JSON gives it.

        Raises:
            InvalidInputError: It names no page.
            NotFoundError: There is no such snapshot.
        """
        body, page = _page_of(body.get("plan-task") if isinstance(body, dict) else None)
        plan = planner.plan(ScanRequest.parse(body), page=page)
        return Answer(document=_documents(plan), pruning=plan.pruning)


def _documents(plan: ScanPlan) -> dict[str, Any]:
    document: dict[str, Any] = {"file-scan-tasks": plan.tasks}
    if plan.deletes:
        document["delete-files"] = plan.deletes
    return document


def _token(body: dict[str, Any], page: Page) -> str:
    """A page in the words of its request, so that nothing is kept of it."""
    text = json.dumps({"request": body, "files": page}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode()


def _page_of(token: Any) -> tuple[Any, Page]:
    try:
        found = parse_json(base64.urlsafe_b64decode(token))
        page, body = tuple(found["files"]), found["request"]
    except (ValueError, TypeError, KeyError, RecursionError):
        page, body = (), None
    if len(page) != 3 or not all(type(one) is int and 0 <= one < 1 << 60 for one in page):
        raise NotFoundError(
            "There is no such plan task.",
            kind=ErrorKind.OBJECT_NOT_FOUND,
            hint="Plan the scan again.",
        )
    return body, page
