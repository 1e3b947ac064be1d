"""Answers to requests for a plan, and the pages of large plans."""

from __future__ import annotations

import base64
import json
import uuid
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, NotFoundError
from lakesieve.serve.requests import ScanRequest, parse_json

if TYPE_CHECKING:
    from lakesieve.index import TablePruning
    from lakesieve.serve.planning import Page, PlanningContext, ScanPlan, TablePlanner

    Answer = tuple[dict[str, Any], TablePruning]
    """The document of an answer in the form of the specification, and what was left out."""


def first_page(planner: TablePlanner, body: Any) -> Answer:
    """Plan a scan, and answer with the first page of the plan.

    Raises:
        InvalidInputError: The body is no request for a plan.
        NotFoundError: There is no such snapshot.
    """
    request = ScanRequest.parse(body)
    plan = planner.plan(request, tasks=_tasks_of(request, planner.context))
    # the server keeps nothing under this id
    document = {"status": "completed", "plan-id": uuid.uuid4().hex}
    # all pages are of the snapshot that is the current one now
    at = {} if request.end_snapshot_id is not None else {"snapshot-id": plan.snapshot_id}
    return document | _page(plan, {**body, **at}, planner.context), plan.pruning


def further_page(planner: TablePlanner, body: Any) -> Answer:
    """Answer with another page of a plan.

    Raises:
        InvalidInputError: The body names no page.
        NotFoundError: There is no such snapshot.
    """
    body, page = _named(body.get("plan-task") if isinstance(body, dict) else None)
    request = ScanRequest.parse(body)
    plan = planner.plan(request, page=page, tasks=_tasks_of(request, planner.context))
    return _page(plan, body, planner.context), plan.pruning


def _tasks_of(request: ScanRequest, context: PlanningContext) -> int:
    """Return the largest number of tasks in an answer. Each task repeats the filter."""
    if request.filter is None:
        return context.tasks
    size = len(json.dumps(request.filter))
    return max(1, min(context.tasks, context.limits.answer // size))


def _page(plan: ScanPlan, body: dict[str, Any], context: PlanningContext) -> dict[str, Any]:
    document: dict[str, Any] = {"file-scan-tasks": plan.tasks}
    if plan.deletes:
        document["delete-files"] = plan.deletes
    if plan.pages:
        # each name of a page repeats the request, so several pages may have to become one
        most = max(1, context.limits.answer // len(json.dumps(body)))
        step = -(-len(plan.pages) // most)
        starts = plan.pages[::step]
        ends = [*(page[0] for page in starts[1:]), plan.pages[-1][1]]
        pages = [(page[0], end, page[2]) for page, end in zip(starts, ends, strict=True)]
        document["plan-tasks"] = [_name(body, page) for page in pages]
    return document


def _name(body: dict[str, Any], page: Page) -> str:
    """Return the name of a page, which has the whole request in it: the server keeps nothing."""
    text = json.dumps({"request": body, "files": page}, separators=(",", ":"))
    return base64.urlsafe_b64encode(text.encode()).decode()


def _named(name: Any) -> tuple[Any, Page]:
    """Return the request and the page of a name."""
    try:
        content = parse_json(base64.urlsafe_b64decode(name))
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
