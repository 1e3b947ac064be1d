"""Answers for the scans of one session: from a request to the files that each scan keeps."""

from __future__ import annotations

import base64
import os
import threading
import time
import uuid
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from lakesieve.errors import InvalidInputError, UnsupportedError
from lakesieve.index import IndexRegistry, NeededRows, Reason, ReasonCode, plan
from lakesieve.planner.answers import answer, kept_files, refusal, unpruned
from lakesieve.planner.look_up import LookUp
from lakesieve.planner.requests import DigestsRequest, RequestError, read_request
from lakesieve.predicate import condition_of
from lakesieve.store import DIGEST_BYTES, shared_cache
from lakesieve.tables.formats import FORMATS, columns_of_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np

    from lakesieve.index import KeepTree, OpenedIndex, UsableIndex
    from lakesieve.planner.requests import PruningRequest, ScanRequest
    from lakesieve.storage import StorageOptions
    from lakesieve.tables import Column

# look-ups of one table that nobody waits for; one more would hardly come back sooner
_MAX_LATE = 4
# answers of which digests may be left to fetch
_MAX_TICKETS = 8
# keeps others from naming a file so that its digest is that of another one
_SECRET = os.urandom(16)


class Planner:
    """Answers the requests of one session; the engine's threads may call it at the same time.

    Runs no query of the engine itself, which would ask again.

    Args:
        locations: Further roots to search for indexes.
        options: Tells the settings with which a location is reached.
        digests_at_once: How many digests of data files one answer sends.
    """

    def __init__(
        self,
        locations: Iterable[str] = (),
        options: StorageOptions | None = None,
        *,
        digests_at_once: int = 65_536,
    ) -> None:
        self._digest_bytes_at_once = digests_at_once * DIGEST_BYTES
        self._registry = IndexRegistry(locations, options)
        self._options = options
        # by the location of a table: look-ups that nobody waits for any more
        self._late: dict[str, list[LookUp]] = {}
        # by the ticket of an answer: digests that the engine fetches after it
        self._tickets: dict[str, dict[str, np.ndarray]] = {}
        # by the name of a plan: the identity of its table, and the plan
        self._given: dict[str, tuple[str, KeepTree]] = {}
        self._lock = threading.Lock()

    def give(self, name: str, uuid: str, plan: KeepTree) -> None:
        """Answer with a plan for the scans of a table that name it."""
        self._given[name] = (uuid, plan)

    def take_back(self, name: str) -> None:
        """Answer no more with a plan that was given."""
        self._given.pop(name, None)

    def relocate(self, locations: Iterable[str], options: StorageOptions | None = None) -> None:
        """Search these further roots from now on; caches are kept where nothing changes."""
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
        """Answer one request of the protocol.

        Returns:
            The answer as JSON. A request that is not valid gets an answer that refuses it.
        """
        try:
            parsed = read_request(request)
        except RequestError as error:
            return refusal(error.reason)
        if isinstance(parsed, DigestsRequest):
            return self._digests(parsed)
        return self._pruned(parsed)

    def _pruned(self, request: PruningRequest) -> str:
        shared_cache().resize(request.memory * 5 // 8)
        until = time.monotonic() + request.seconds
        # all at once: a table whose storage hangs takes no time from the others
        looking = [self._start(scan, until, request.catalogues) for scan in request.scans]
        scans = [
            self._finish(scan, look, until)
            for scan, look in zip(request.scans, looking, strict=True)
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
        return answer(secret=secret, ticket=ticket, scans=scans)

    def _digests(self, request: DigestsRequest) -> str:
        """Answer with digests of the next files of a catalogue. The last digests end the ticket."""
        ticket, name = request.ticket, request.catalogue
        start = request.start * DIGEST_BYTES
        with self._lock:
            digests = self._tickets.get(ticket, {}).get(name)
            if digests is None:
                detail = "the digests of this catalogue are not kept any more"
                return refusal(Reason(code=ReasonCode.INTERNAL_ERROR, detail=detail))
            end = start + self._digest_bytes_at_once
            if end >= len(digests):
                del self._tickets[ticket][name]
                if not self._tickets[ticket]:
                    del self._tickets[ticket]
        return answer(digests=base64.b64encode(digests[start:end].tobytes()).decode("ascii"))

    def _start(self, scan: ScanRequest, until: float, known: frozenset[str]) -> LookUp | None:
        """Answer for a scan in the background. Return ``None`` if too many of its table wait."""
        table = scan.location
        if until <= time.monotonic():
            return None
        with self._lock:
            self._late = {
                location: pending
                for location, look_ups in self._late.items()
                if (pending := [look_up for look_up in look_ups if not look_up.task.is_done])
            }
            if len(self._late.get(table, ())) >= _MAX_LATE:
                return None
        look_up = LookUp(self._registry, until)
        look_up.start(lambda: self._scan(scan, look_up, known))
        return look_up

    def _finish(self, scan: ScanRequest, look_up: LookUp | None, until: float) -> dict[str, Any]:
        """Return the answer for a scan, or what is said when it does not come in time."""
        if look_up is None:
            detail = "no time is left, or earlier look-ups of this table are still under way"
            return _late(scan.id, Reason(code=ReasonCode.PLANNING_TIMEOUT, detail=detail))
        if look_up.task.wait(until):
            try:
                return look_up.task.result()
            except InvalidInputError as error:
                invalid = Reason(code=ReasonCode.INVALID_SETTING, detail=error.message)
                return unpruned(scan.id, [invalid])
            except Exception as error:  # noqa: BLE001 - the scan stays as it was
                return unpruned(scan.id, [_internal(error)])
        with self._lock:
            self._late.setdefault(scan.location, []).append(look_up)
        return _late(scan.id, look_up.give_up())

    def _scan(self, scan: ScanRequest, look_up: LookUp, known: frozenset[str]) -> dict[str, Any]:
        given_uuid, given = self._given.get(scan.given, ("", None))
        if given is not None and given_uuid == scan.uuid:
            of_plan = unpruned(scan.id, given.reasons)
            of_plan |= {"indexes": list(given.used), "given": True}
            return of_plan | _kept(given, known)
        indexes, reasons = look_up.registry.indexes(
            scan.location, scan.uuid, file_io=scan.file_io, until=look_up.until
        )
        if not indexes:
            missing = Reason(code=ReasonCode.NO_INDEX, detail="")
            return unpruned(scan.id, reasons or [missing])
        if scan.format not in FORMATS:
            detail = f"tables of the format {scan.format} are not known"
            return unpruned(scan.id, [Reason(code=ReasonCode.SCAN_UNSUPPORTED, detail=detail)])
        try:
            columns = columns_of_document(scan.format, scan.schema)
        except UnsupportedError as error:
            unknown = Reason(code=ReasonCode.SCAN_UNSUPPORTED, detail=error.message)
            return unpruned(scan.id, [unknown])
        condition = condition_of(scan.filter)
        needed = NeededRows()
        if scan.needed is not None:
            needed = scan.needed.needed(columns, condition, indexes, scan.uuid)
        if needed.asks:
            return unpruned(scan.id, ()) | _asking(needed.asks, known)
        planned = plan(
            columns,
            condition,
            indexes,
            scan.uuid,
            strict=False,
            keys=[condition_of(condition) for condition in scan.keys],
            needed=needed,
            visit=look_up.visit,
        )
        of_joins = [_key_text(condition) for condition in scan.keys]
        joined = [Reason(code=ReasonCode.JOIN_KEYS, detail=text) for text in of_joins]
        result = unpruned(scan.id, [*reasons, *needed.reasons, *planned.reasons, *joined])
        result["indexes"] = list(planned.plan.used)
        result["predicate"] = _predicate_text(planned.condition(columns), of_joins)
        result["leading"] = _leading(planned.usable, columns)
        if needed.first:
            result["first_rows"] = [asdict(one) for one in needed.first]
        if needed.distinct_count is not None and needed.index is not None:
            result["distinct_count"] = needed.distinct_count
            result["indexes"] = [needed.index.definition.name]
        result["row_blocks"] = any(one.index.definition.rows_per_block for one in planned.usable)
        return result | _kept(planned.plan, known)


def _late(scan: int, reason: Reason) -> dict[str, Any]:
    return unpruned(scan, [reason]) | {"late": True}


def _leading(
    usable: Sequence[UsableIndex], columns: Mapping[tuple[str, ...], Column]
) -> list[list[str]]:
    """Return columns whose values alone can tell something, by their names."""
    firsts = {one.columns[0].field_id for one in usable if one.key_of_many is None}
    return [list(path) for path, column in columns.items() if column.field_id in firsts]


def _key_text(keys: dict[str, Any]) -> str:
    count = int(keys["count"])
    return f"{'.'.join(keys['col'])} IN ({count} key{'' if count == 1 else 's'} of a join)"


def _predicate_text(conditions: str, of_joins: list[str]) -> str:
    if not of_joins:
        return conditions
    return " AND ".join([conditions] * (conditions != "TRUE") + of_joins)


def _kept(plan: KeepTree, known: frozenset[str]) -> dict[str, Any]:
    """Return what a plan keeps, and the digests that the engine lacks to apply it."""
    if not plan.skips:
        return {}
    return kept_files(plan) | {"digests": _lacking(plan.indexes, known)}


def _asking(indexes: Sequence[OpenedIndex], known: frozenset[str]) -> dict[str, Any]:
    """Ask the engine which files of indexes a scan reads, with the digests that it lacks."""
    return {
        "live": [index.files() for index in indexes],
        "digests": _lacking(indexes, known),
    }


def _lacking(indexes: Iterable[OpenedIndex], known: frozenset[str]) -> dict[str, np.ndarray]:
    """Return the digests of the files of indexes that the engine lacks, by catalogue."""
    return {
        name: index.digests(name, _SECRET)
        for index in indexes
        for name, _ in index.files()
        if name not in known
    }


def _internal(error: Exception) -> Reason:
    return Reason(code=ReasonCode.INTERNAL_ERROR, detail=f"{type(error).__name__}: {error}")
