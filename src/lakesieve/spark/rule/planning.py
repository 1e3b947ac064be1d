"""The Python side of the optimizer rule: a request with scans and filters to files to keep."""

from __future__ import annotations

import base64
import json
import os
import threading
import time
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np

from lakesieve.errors import UnsupportedError
from lakesieve.index import (
    IndexRegistry,
    Part,
    Parts,
    Plan,
    Reason,
    ReasonCode,
    ShownList,
    TablePruning,
    plan,
)
from lakesieve.predicate import from_catalyst
from lakesieve.predicate import to_text as filter_text
from lakesieve.spark.tables.registry import FORMATS
from lakesieve.storage import Background
from lakesieve.store import DIGEST_BYTES, shared_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lakesieve.index import OpenedIndex, UsableIndex
    from lakesieve.storage import Storage, StorageOptions
    from lakesieve.tables import Column

__all__ = ["Pruner", "answer_without_indexes", "pruning_rows"]


# of one table; more of them would hardly come back sooner
_MAX_LATE = 4
# answers of which digests may be left to fetch
_MAX_TICKETS = 8
# sent at once
_MAX_DIGESTS = 65_536
# keeps others from naming a file so that its digest is that of another one
_SECRET = os.urandom(16)


class Pruner:
    """Answers the rule's requests for one session; called from Spark's planning threads.

    Runs no Spark work of its own, which would meet the rule again.

    Args:
        locations: Further roots to search for indexes.
        options: Tells the settings with which a location is reached.
    """

    def __init__(
        self,
        locations: Iterable[str] = (),
        options: StorageOptions | None = None,
    ) -> None:
        self._registry = IndexRegistry(locations, options)
        self._options = options
        # by the location of a table: what nobody waits for any more
        self._late: dict[str, list[_Look]] = {}
        # by the ticket of an answer: digests that the rule fetches after it
        self._tickets: dict[str, dict[str, np.ndarray]] = {}
        # by its name: a table's uuid, and what is known of its files already
        self._given: dict[str, tuple[str, Plan]] = {}
        self._lock = threading.Lock()

    def give(self, name: str, uuid: str, plan: Plan) -> None:
        """Answer with a plan for the scans of a table that name it.

        Args:
            name: The plan's name.
            uuid: The table's identity.
            plan: The plan.
        """
        self._given[name] = (uuid, plan)

    def take_back(self, name: str) -> None:
        """Answer no more with a plan that was given.

        Args:
            name: The plan's name.
        """
        self._given.pop(name, None)

    def relocate(self, locations: Iterable[str], options: StorageOptions | None = None) -> None:
        """Search these further roots from now on; caches are kept where nothing changes.

        Args:
            locations: Roots to search besides the tables' own.
            options: Tells the settings with which a location is reached.
        """
        roots = tuple(locations)
        if roots != self.locations or options != self._options:
            self._registry = IndexRegistry(roots, options)
            self._options = options

    @property
    def locations(self) -> tuple[str, ...]:
        """Further roots to search for indexes."""
        return self._registry.locations

    @property
    def options(self) -> StorageOptions | None:
        """Tells the settings with which a location is reached."""
        return self._options

    def answer(self, request: str) -> str:
        """Answer one request; see ``PythonPlanner.java`` for the protocol."""
        parsed = json.loads(request)
        if "ticket" in parsed:
            return self._digests(parsed)
        shared_cache().resize(int(parsed["memory"]) * 5 // 8)
        until = time.monotonic() + float(parsed["seconds"])
        known = set(parsed["catalogues"])
        # all at once: a table whose storage hangs takes no time from the others
        looking = [self._start(scan, until, known) for scan in parsed["scans"]]
        scans = [
            self._finish(scan, look, until)
            for scan, look in zip(parsed["scans"], looking, strict=True)
        ]
        ticket = uuid.uuid4().hex
        digests: dict[str, np.ndarray] = {}
        for scan in scans:
            digests |= scan.pop("digests", {})
        if digests:
            with self._lock:
                self._tickets[ticket] = digests
                for old in list(self._tickets)[:-_MAX_TICKETS]:
                    del self._tickets[old]
        secret = base64.b64encode(_SECRET).decode("ascii")
        return json.dumps({"secret": secret, "ticket": ticket, "scans": scans})

    def _digests(self, parsed: dict[str, Any]) -> str:
        """Digests of the next files of a catalogue; the last of a ticket end it."""
        ticket, name = parsed["ticket"], parsed["catalogue"]
        start = parsed["from"] * DIGEST_BYTES
        with self._lock:
            digests = self._tickets.get(ticket, {}).get(name)
            if digests is None:
                return ""
            end = start + _MAX_DIGESTS * DIGEST_BYTES
            if end >= len(digests):
                del self._tickets[ticket][name]
                if not self._tickets[ticket]:
                    del self._tickets[ticket]
        return base64.b64encode(digests[start:end].tobytes()).decode("ascii")

    def _start(self, scan: dict[str, Any], until: float, known: set[str]) -> _Look | None:
        """Answer for a scan in the background; ``None`` when too many of its table wait already."""
        table = scan["location"]
        if until <= time.monotonic():
            return None
        with self._lock:
            self._late = {
                location: pending
                for location, looks in self._late.items()
                if (pending := [look for look in looks if not look.task.is_done])
            }
            if len(self._late.get(table, ())) >= _MAX_LATE:
                return None
        registry = self._registry
        look = _Look(registry, until)
        look.start(lambda: self._scan(scan, look, known))
        return look

    def _finish(self, scan: dict[str, Any], look: _Look | None, until: float) -> dict[str, Any]:
        """The answer for a scan, or what is said when it does not come in time."""
        if look is None:
            detail = "no time is left, or earlier look-ups of this table are still under way"
            return _late(scan["id"], Reason(code=ReasonCode.PLANNING_TIMEOUT, detail=detail))
        if look.task.wait(until):
            try:
                return look.task.result()
            except Exception as error:  # noqa: BLE001 - the scan stays as it was
                return _untouched(scan["id"], [_internal(error)])
        with self._lock:
            self._late.setdefault(scan["location"], []).append(look)
        return _late(scan["id"], look.give_up())

    def _scan(self, scan: dict[str, Any], look: _Look, known: set[str]) -> dict[str, Any]:
        given_uuid, given = self._given.get(scan.get("given", ""), ("", None))
        if given is not None and given_uuid == scan["uuid"]:
            answer = _untouched(scan["id"], list(given.reasons))
            answer |= {"indexes": list(given.used), "given": True}
            if given.skips:
                _attach(answer, given, known)
            return answer
        table = (scan["location"], scan["uuid"])
        indexes, reasons = look.registry.indexes(
            *table, file_io=scan.get("file_io"), until=look.until
        )
        if not indexes:
            missing = Reason(code=ReasonCode.NO_INDEX, detail="")
            return _untouched(scan["id"], reasons or [missing])
        try:
            columns = FORMATS[scan["format"]].columns(scan["schema"])
        except UnsupportedError as error:
            unknown = Reason(code=ReasonCode.SCAN_UNSUPPORTED, detail=error.message)
            return _untouched(scan["id"], [unknown])
        keys = scan.get("keys", ())
        planned = plan(
            columns,
            from_catalyst(scan["filter"]),
            indexes,
            scan["uuid"],
            strict=False,
            keys=[from_catalyst(condition) for condition in keys],
            visit=look.visit,
        )
        names = {c.field_id: ".".join(path) for path, c in columns.items()}
        of_joins = [_key_text(condition) for condition in keys]
        joined = [Reason(code=ReasonCode.JOIN_KEYS, detail=text) for text in of_joins]
        answer = _untouched(scan["id"], [*reasons, *planned.reasons, *joined])
        answer["indexes"] = list(planned.plan.used)
        answer["predicate"] = _predicate_text(filter_text(planned.row_filter, names), of_joins)
        answer["leading"] = _leading(planned.usable, columns)
        if planned.plan.skips:
            _attach(answer, planned.plan, known)
        return answer


def answer_without_indexes(request: str, reason: Reason) -> str:
    """Answer one request by leaving every file in its scans.

    Args:
        request: As for :meth:`Pruner.answer`.
        reason: Why no index is used.
    """
    parsed = json.loads(request)
    if "ticket" in parsed:
        return ""
    scans = [_untouched(scan["id"], [reason]) for scan in parsed["scans"]]
    secret = base64.b64encode(_SECRET).decode("ascii")
    return json.dumps({"secret": secret, "ticket": uuid.uuid4().hex, "scans": scans})


class _Look:
    """A look-up for one scan, in a thread that goes on when the query no longer waits.

    Then what it reads is at hand for the next query.

    Args:
        registry: Opens the indexes.
        until: How long the query waits, as ``time.monotonic()`` has it.
    """

    task: Background[dict[str, Any]]

    def __init__(self, registry: IndexRegistry, until: float) -> None:
        self.registry = registry
        self.until = until
        self._index: OpenedIndex | None = None
        self._given_up: Storage | None = None

    def start(self, work: Callable[[], dict[str, Any]]) -> None:
        """Begin the look-up."""

        def run() -> dict[str, Any]:
            result = work()
            if self._given_up is not None:
                self.registry.wake(self._given_up)
            return result

        self.task = Background(run)

    def visit(self, index: OpenedIndex | None) -> None:
        """Hear which index is read now."""
        self._index = index

    def give_up(self) -> Reason:
        """Leave alone the root that is waited for; the coded reason."""
        index = self._index
        if index is None:
            detail = "planning took longer than the query waits for it"
            return Reason(code=ReasonCode.PLANNING_TIMEOUT, detail=detail)
        root = index.storage.parent
        self._given_up = root
        reason = self.registry.rest(root)
        if self.task.is_done:
            self.registry.wake(root)
        return reason


def _late(scan_id: int, reason: Reason) -> dict[str, Any]:
    return _untouched(scan_id, [reason]) | {"late": True}


def _leading(
    usable: Sequence[UsableIndex], columns: Mapping[tuple[str, ...], Column]
) -> list[list[str]]:
    """Columns whose values alone can tell something, by their names."""
    firsts = {one.columns[0].field_id for one in usable}
    return [list(path) for path, column in columns.items() if column.field_id in firsts]


def _key_text(keys: dict[str, Any]) -> str:
    count = int(keys["count"])
    return f"{'.'.join(keys['col'])} IN ({count} key{'' if count == 1 else 's'} of a join)"


def _predicate_text(conditions: str, of_joins: list[str]) -> str:
    if not of_joins:
        return conditions
    return " AND ".join([conditions] * (conditions != "anything") + of_joins)


def _attach(answer: dict[str, Any], plan: Plan, known: set[str]) -> None:
    """Give an answer what the plan keeps, and the digests that the rule lacks to apply it."""
    answer["catalogues"] = [index.files() for index in plan.indexes]
    answer["keep"] = _tree(plan.keep)
    answer["digests"] = {
        name: index.digests(name, _SECRET)
        for index in plan.indexes
        for name, _ in index.files()
        if name not in known
    }


def _tree(part: Part | Parts) -> dict[str, Any]:
    if isinstance(part, Part):
        bits = np.packbits(part.keep, bitorder="little").tobytes()
        return {"index": part.index, "keep": base64.b64encode(bits).decode("ascii")}
    if not part.args and not part.every:
        return {"op": "none"}
    return {"op": "and" if part.every else "or", "args": [_tree(arg) for arg in part.args]}


def _untouched(scan_id: int, reasons: list[Reason]) -> dict[str, Any]:
    documents = [{"code": str(reason.code), "detail": reason.detail} for reason in reasons]
    return {"id": scan_id, "indexes": [], "leading": [], "reasons": documents, "predicate": ""}


def _internal(error: Exception) -> Reason:
    return Reason(code=ReasonCode.INTERNAL_ERROR, detail=f"{type(error).__name__}: {error}")


def pruning_rows(report: list[dict[str, Any]]) -> ShownList[TablePruning]:
    """The rule's report as result models."""
    return ShownList(
        TablePruning(
            **row
            | {
                "indexes": tuple(row["indexes"]),
                "reasons": tuple(map(_reason, row["reasons"])),
            }
        )
        for row in report
    )


def _reason(row: Mapping[str, str]) -> Reason:
    code, detail = row["code"], row["detail"]
    # a server may be of a later version
    if code not in set(ReasonCode):
        return Reason(code=ReasonCode.INTERNAL_ERROR, detail=f"{code}: {detail}")
    return Reason(code=ReasonCode(code), detail=detail)
