"""How requests are read and answered, in the forms of Iceberg's REST specification."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from lakesieve.errors import (
    CommitConflictError,
    ErrorKind,
    InvalidInputError,
    LakesieveError,
    NotFoundError,
    StorageError,
)
from lakesieve.serve.metrics import count_failure, count_plan, metrics

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    from lakesieve.index import TablePruning
    from lakesieve.serve.service import Answer

__all__ = [
    "EXCEPTION_HANDLERS",
    "OPERATIONS",
    "answered",
    "error_answer",
    "plan_answer",
    "read_body",
]

_LARGEST_BODY = 16 << 20
_log = logging.getLogger("lakesieve.serve")


def error_answer(code: int, kind: str, message: str) -> Response:
    """An error.

    Args:
        code: The status.
        kind: The name that the specification gives it.
        message: What happened.
    """
    document = {"error": {"message": message, "type": kind, "code": code}}
    return JSONResponse(document, status_code=code)


EXCEPTION_HANDLERS: Mapping[Any, Callable[..., Response]] = {
    404: lambda *_: error_answer(404, "NotFoundException", "There is no such resource."),
    405: lambda *_: error_answer(
        405, "UnsupportedOperationException", "This catalog does not take that."
    ),
    500: lambda *_: error_answer(500, "InternalServerError", "The server failed; see its log."),
}
"""Answers where no resource makes one."""


async def _healthy(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


OPERATIONS = (
    Route("/healthz", _healthy, methods=["GET"]),
    Route("/metrics", metrics, methods=["GET"]),
)
"""That the server runs, and what it did."""


def answered(
    act: Callable[[Request, Any], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """Read the body, answer in a thread, and turn errors into answers.

    Args:
        act: Makes the answer from the request and its body.
    """

    async def answer(request: Request) -> Response:
        try:
            body = await read_body(request) if request.method == "POST" else None
            return await run_in_threadpool(act, request, body)
        except LakesieveError as error:
            if request.method == "POST":
                count_failure()
            return _refusal(request, error)

    return answer


def _refusal(request: Request, error: LakesieveError) -> Response:
    if isinstance(error, InvalidInputError):
        return error_answer(400, "BadRequestException", str(error))
    if isinstance(error, NotFoundError):
        kind = "NoSuchTableException"
        if error.kind is ErrorKind.OBJECT_NOT_FOUND:
            kind = "NoSuchPlanTaskException"
        elif "table" not in request.path_params:
            kind = "NoSuchNamespaceException"
        return error_answer(404, kind, str(error))
    if isinstance(error, CommitConflictError):
        return error_answer(409, "CommitFailedException", str(error))
    if isinstance(error, StorageError):
        _log.warning("%s", error)
        return error_answer(503, "ServiceUnavailableException", str(error))
    return error_answer(406, "UnsupportedOperationException", str(error))


async def read_body(request: Request) -> Any:
    """The body of a request as JSON.

    Args:
        request: The request.

    Raises:
        InvalidInputError: It is too large, or no JSON.
    """
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


def plan_answer(table: str, answer: Answer, seconds: float, more: Any = None) -> Response:
    """A plan, with headers that tell what was left out.

    Args:
        table: The table's name, for the log.
        answer: The plan.
        seconds: How long it took.
        more: Further fields of the document.
    """
    pruning = answer.pruning
    count_plan(pruning, seconds)
    _log.info(
        "planned %s: %d of %d files in %.1f ms (%s)",
        table,
        pruning.files_read,
        pruning.files_total,
        seconds * 1000,
        _codes(pruning),
    )
    headers = {
        "X-Lakesieve-Files": f"{pruning.files_read}/{pruning.files_total}",
        "X-Lakesieve-Reasons": _codes(pruning),
    }
    return JSONResponse({**answer.document, **(more or {})}, headers=headers)


def _codes(pruning: TablePruning) -> str:
    return ",".join(dict.fromkeys(str(reason.code) for reason in pruning.reasons))
