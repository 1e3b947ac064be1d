"""Requests of the protocol, read strictly: what is not understood is refused."""

from __future__ import annotations

import base64
import json
import math
from dataclasses import dataclass
from typing import Any, TypeVar

from lakesieve.index import (
    DistinctKeys,
    Reason,
    ReasonCode,
    RowOrder,
    ScanOrder,
    ScanOrders,
    SomeRows,
)

PROTOCOL = 2
"""Version of the protocol that this planner speaks."""

_DAY = 86_400.0
_PRUNING = {"version", "seconds", "memory", "catalogues", "scans"}
_DIGESTS = {"version", "ticket", "catalogue", "from"}
# the first two are for people who read requests
_SCAN = {"table", "snapshot", "id", "format", "uuid", "location", "schema", "filter"}
_NEEDED = ("first_rows", "distinct", "some_rows")
_SCAN_MORE = {"keys", "given", "file_io", *_NEEDED}
_FIRST_ROWS = {"orders", "filtered"}
_ORDER = {"col", "descending", "nulls_first", "limit"}

_T = TypeVar("_T")


class RequestError(Exception):
    """A request that is not answered."""

    def __init__(self, detail: str) -> None:
        super().__init__(detail)
        self.reason = Reason(code=ReasonCode.PROTOCOL_MISMATCH, detail=detail)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanRequest:
    """One scan of a query.

    Args:
        schema: The schema that the scan reads, as a document of the table format.
        keys: Further conditions: the keys of joins.
        given: Name of a plan that answers instead of indexes, or empty.
        needed: The orders of which the scan needs the first rows alone, the columns of which it
            needs each combination of values once, or how many rows it needs. ``None`` if it may
            need any row.
    """

    id: int
    format: str
    uuid: str
    location: str
    schema: str
    filter: Any
    keys: tuple[dict[str, Any], ...] = ()
    given: str = ""
    file_io: dict[str, str] | None = None
    needed: ScanOrders | DistinctKeys | SomeRows | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PruningRequest:
    """Asks which files the scans of one query keep.

    Args:
        memory: Bytes that the engine and the planner may hold together of indexes.
        catalogues: Names of the catalogues whose digests the engine has.
    """

    seconds: float
    memory: int
    catalogues: frozenset[str]
    scans: tuple[ScanRequest, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestsRequest:
    """Asks for digests of the next files of a catalogue.

    Args:
        start: Number of the files whose digests the engine has.
    """

    ticket: str
    catalogue: str
    start: int


def read_request(text: str) -> PruningRequest | DigestsRequest:
    """Read a request."""
    try:
        request = json.loads(text)
    except (ValueError, RecursionError):
        raise RequestError("the request is not JSON") from None
    if not isinstance(request, dict) or type(version := request.get("version")) is not int:
        raise RequestError("the request names no version of the protocol")
    if version != PROTOCOL:
        raise RequestError(
            f"the request is of version {version} of the protocol, the planner speaks {PROTOCOL}"
        )
    if "ticket" in request:
        _check_fields(request, _DIGESTS, set())
        return DigestsRequest(
            ticket=_of(str, request, "ticket"),
            catalogue=_of(str, request, "catalogue"),
            start=_count(request, "from"),
        )
    _check_fields(request, _PRUNING, set())
    return PruningRequest(
        seconds=_seconds(request),
        memory=_count(request, "memory"),
        catalogues=frozenset(map(str, _of(list, request, "catalogues"))),
        scans=tuple(map(_scan, _of(list, request, "scans"))),
    )


def _scan(scan: Any) -> ScanRequest:
    if not isinstance(scan, dict):
        raise RequestError("a scan is not an object")
    _check_fields(scan, _SCAN - {"table", "snapshot"}, _SCAN_MORE | {"table", "snapshot"})
    keys = _of(list, {"keys": []} | scan, "keys")
    if not all(isinstance(condition, dict) for condition in keys):
        raise RequestError("a condition in keys is not an object")
    return ScanRequest(
        id=_count(scan, "id"),
        format=_of(str, scan, "format"),
        uuid=_of(str, scan, "uuid"),
        location=_of(str, scan, "location"),
        schema=_of(str, scan, "schema"),
        filter=scan["filter"],
        keys=tuple(keys),
        given=_of(str, {"given": ""} | scan, "given"),
        file_io=_file_io(scan.get("file_io")),
        needed=_needed(scan),
    )


def _needed(scan: dict[str, Any]) -> ScanOrders | DistinctKeys | SomeRows | None:
    given = [name for name in _NEEDED if scan.get(name) is not None]
    if len(given) > 1:
        raise RequestError(f"a scan has both {given[0]} and {given[1]}")
    match given:
        case ["first_rows"]:
            return _first_rows(scan["first_rows"])
        case ["distinct"]:
            return _distinct(scan["distinct"])
        case ["some_rows"]:
            return _some_rows(scan["some_rows"])
    return None


def _first_rows(wanted: Any) -> ScanOrders:
    if not isinstance(wanted, dict):
        raise RequestError("first_rows is not an object")
    _check_fields(wanted, _FIRST_ROWS, set())
    orders = tuple(map(_order, _of(list, wanted, "orders")))
    if not orders:
        raise RequestError("first_rows has no order")
    return ScanOrders(orders=orders, is_filtered=_of(bool, wanted, "filtered"))


def _order(order: Any) -> ScanOrder:
    if not isinstance(order, dict):
        raise RequestError("an order is not an object")
    _check_fields(order, _ORDER, {"live"})
    path = tuple(map(str, _of(list, order, "col")))
    rows = RowOrder(
        column=".".join(path),
        descending=_of(bool, order, "descending"),
        nulls_first=_of(bool, order, "nulls_first"),
        limit=_count(order, "limit"),
    )
    return ScanOrder(path=path, order=rows, live=_live(order.get("live")))


def _distinct(wanted: Any) -> DistinctKeys:
    if not isinstance(wanted, dict):
        raise RequestError("distinct is not an object")
    _check_fields(wanted, {"cols"}, {"counted", "live"})
    columns = _of(list, wanted, "cols")
    if not columns or not all(isinstance(path, list) for path in columns):
        raise RequestError("the columns of distinct are not a list of paths")
    paths = tuple(tuple(map(str, path)) for path in columns)
    is_counted = _of(bool, {"counted": False} | wanted, "counted")
    return DistinctKeys(paths=paths, is_counted=is_counted, live=_live(wanted.get("live")))


def _some_rows(wanted: Any) -> SomeRows:
    if not isinstance(wanted, dict):
        raise RequestError("some_rows is not an object")
    _check_fields(wanted, {"limit"}, {"live"})
    return SomeRows(limit=_count(wanted, "limit"), live=_live(wanted.get("live")))


def _live(live: Any) -> dict[str, bytes] | None:
    if live is None:
        return None
    if not isinstance(live, dict):
        raise RequestError("the live files are not an object")
    try:
        return {name: base64.b64decode(packed, validate=True) for name, packed in live.items()}
    except (ValueError, TypeError):
        raise RequestError("the live files of a catalogue are not in base64") from None


def _file_io(properties: Any) -> dict[str, str] | None:
    if properties is None:
        return None
    if not isinstance(properties, dict) or not all(isinstance(v, str) for v in properties.values()):
        raise RequestError("the properties of a file IO are not all strings")
    return properties


def _check_fields(document: dict[str, Any], needed: set[str], others: set[str]) -> None:
    missing = sorted(needed - document.keys())
    unknown = sorted(document.keys() - needed - others)
    if missing or unknown:
        # names alone: values may be credentials
        listed = ", ".join(name[:40] for name in (missing or unknown)[:5])
        raise RequestError(f"{'missing' if missing else 'unknown'} fields in a request: {listed}")


def _of(kind: type[_T], document: dict[str, Any], name: str) -> _T:
    value = document[name]
    if not isinstance(value, kind):
        raise RequestError(f"the field {name} of a request is not a {kind.__name__}")
    return value


def _count(document: dict[str, Any], name: str) -> int:
    value = document[name]
    if type(value) is not int or value < 0:
        raise RequestError(f"the field {name} of a request is not a count")
    return value


def _seconds(document: dict[str, Any]) -> float:
    value = document["seconds"]
    if type(value) not in {int, float} or not 0 <= value < math.inf:
        raise RequestError("the field seconds of a request is not a number of seconds")
    return float(min(value, _DAY))
