"""Reading requests and writing answers in the forms of Iceberg's REST specification."""

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
from lakesieve.serve.metrics import metrics
from lakesieve.serve.requests import parse_json

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request


_LARGEST_BODY = 16 << 20
_log = logging.getLogger("lakesieve.serve")


class AnswerError(Exception):
    """Ends the work for a request with another answer."""

    def __init__(self, answer: Response) -> None:
        super().__init__(answer.status_code)
        self.answer = answer


def error_answer(code: int, kind: str, message: str) -> Response:
    """Return an error as an answer."""
    document = {"error": {"message": message, "type": kind, "code": code}}
    return JSONResponse(document, status_code=code)


EXCEPTION_HANDLERS: Mapping[Any, Callable[..., Response]] = {
    404: lambda *_: error_answer(404, "NotFoundException", "There is no such resource."),
    405: lambda *_: error_answer(
        405, "UnsupportedOperationException", "This catalog does not take that."
    ),
    500: lambda *_: error_answer(500, "InternalServerError", "The server failed; see its log."),
}
"""Answers to requests for no resource, and after failures of the server."""


async def _healthy(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


OPERATIONS = (
    Route("/healthz", _healthy, methods=["GET"]),
    Route("/metrics", metrics, methods=["GET"]),
)
"""Resources for the operators of the server."""


def answered(
    act: Callable[[Request, Any], Response],
) -> Callable[[Request], Awaitable[Response]]:
    """Return a resource that reads the body, runs ``act`` in a thread, and answers errors."""

    async def answer(request: Request) -> Response:
        try:
            body = await _read_body(request) if request.method == "POST" else None
            return await run_in_threadpool(act, request, body)
        except AnswerError as other:
            return other.answer
        except LakesieveError as error:
            return _refusal(request, error)

    return answer


def _public(error: LakesieveError) -> str:
    """Return the part of an error that callers may see: lakesieve's own words only."""
    message = error.public_message or error.message
    if error.public_message is None and not isinstance(error.__cause__, LakesieveError | None):
        message = "The server cannot do that now; its log says why."
    return f"{message} {error.hint}".strip()


def _refusal(request: Request, error: LakesieveError) -> Response:
    said = _public(error)
    if isinstance(error, InvalidInputError):
        return error_answer(400, "BadRequestException", said)
    if isinstance(error, NotFoundError):
        kind = "NoSuchTableException"
        if error.kind is ErrorKind.OBJECT_NOT_FOUND:
            kind = "NoSuchPlanTaskException"
        elif "table" not in request.path_params:
            kind = "NoSuchNamespaceException"
        return error_answer(404, kind, said)
    if isinstance(error, CommitConflictError):
        return error_answer(409, "CommitFailedException", said)
    if isinstance(error, StorageError):
        _log.warning("%s", error.message)
        if error.kind is ErrorKind.COMMIT_UNKNOWN:
            return error_answer(500, "CommitStateUnknownException", said)
        return error_answer(503, "ServiceUnavailableException", said)
    return error_answer(406, "UnsupportedOperationException", said)


async def _read_body(request: Request) -> Any:
    """Return the body of a request, read as JSON.

    Raises:
        InvalidInputError: It is too large, or no JSON.
    """
    received = bytearray()
    async for part in request.stream():
        received += part
        if len(received) > _LARGEST_BODY:
            raise _wrong(f"It has more than {_LARGEST_BODY} bytes.")
    try:
        return parse_json(bytes(received))
    except json.JSONDecodeError as error:
        raise _wrong(f"It is not JSON from line {error.lineno}, column {error.colno} on.") from None
    except UnicodeError:
        raise _wrong("It contains bytes that are not characters.") from None
    except (ValueError, RecursionError):
        raise _wrong(
            "It has NaN or infinity, a number that is too long, or too many levels."
        ) from None


def _wrong(why: str) -> InvalidInputError:
    return InvalidInputError(
        f"The body of the request cannot be read. {why}",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint="Send a body as Iceberg's REST specification describes it.",
    )
