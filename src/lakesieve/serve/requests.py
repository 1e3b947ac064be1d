"""Requests for plans of scans."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from lakesieve.errors import ErrorKind, InvalidInputError

# an escape of a half of a surrogate pair, which is no character without its other half
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def parse_json(data: bytes) -> Any:
    """Read JSON in UTF-8 that can be written again: without NaN, and without lone surrogates.

    Raises:
        ValueError: It is something else.
        RecursionError: It is too deep.
    """
    text = data.decode("utf-8")
    found = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    if _HALF.search(text):
        json.dumps(found, ensure_ascii=False).encode("utf-8")
    return found


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number


def _no_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest:
    """The scan that a client wants planned: ``PlanTableScanRequest`` in the specification."""

    snapshot_id: int | None = None  # a snapshot; the current one by default
    start_snapshot_id: int | None = None  # incremental scan: the last known snapshot
    end_snapshot_id: int | None = None  # incremental scan: the last wanted snapshot
    filter: Any = None  # the filter as JSON
    case_sensitive: bool = True  # how names are compared
    use_snapshot_schema: bool = False  # whether names are those of the snapshot, not of the table
    stats_fields: tuple[str, ...] = ()  # names of the columns whose statistics are wanted

    @classmethod
    def parse(cls, body: Any) -> ScanRequest:
        """Check the body of a request.

        Raises:
            InvalidInputError: It is no such request.
        """
        if not isinstance(body, dict):
            raise _wrong("It is not an object.")
        request = cls(
            snapshot_id=_number(body, "snapshot-id"),
            start_snapshot_id=_number(body, "start-snapshot-id"),
            end_snapshot_id=_number(body, "end-snapshot-id"),
            filter=body.get("filter"),
            case_sensitive=_flag(body, "case-sensitive", default=True),
            use_snapshot_schema=_flag(body, "use-snapshot-schema", default=False),
            stats_fields=_names(body, "stats-fields"),
        )
        _names(body, "select")
        _number(body, "min-rows-requested")
        if (request.start_snapshot_id is None) != (request.end_snapshot_id is None):
            raise _wrong("A start-snapshot-id and an end-snapshot-id need each other.")
        if request.end_snapshot_id is not None and request.snapshot_id is not None:
            raise _wrong("It has both a snapshot-id and an end-snapshot-id.")
        return request


def _wrong(why: str) -> InvalidInputError:
    return InvalidInputError(
        f"The request for a plan cannot be read: {why}",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint="Send a PlanTableScanRequest of Iceberg's REST specification.",
    )


def _number(body: dict[str, Any], name: str) -> int | None:
    value = body.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
        raise _wrong(f"{name} is not an integer.")
    return value


def _flag(body: dict[str, Any], name: str, *, default: bool) -> bool:
    value = body.get(name)
    if value is not None and not isinstance(value, bool):
        raise _wrong(f"{name} is neither true nor false.")
    return default if value is None else value


def _names(body: dict[str, Any], name: str) -> tuple[str, ...]:
    value = body.get(name)
    if value is None:
        return ()
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise _wrong(f"{name} is not a list of names.")
    return tuple(value)
