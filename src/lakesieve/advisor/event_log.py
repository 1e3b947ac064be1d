"""Spark's event logs: which conditions and joins queries had on tables, and what they took."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.advisor.log_files import log_files
from lakesieve.advisor.table_scans import KnownTable, TableScan, scans_of
from lakesieve.advisor.uses import JoinedColumn, TableUse, UsesRead
from lakesieve.errors import LakesieveError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from lakesieve.advisor.log_files import LogFile
    from lakesieve.storage import StorageOptions

_EVENT = re.compile(rb'\s*\{\s*"Event"\s*:\s*"(?:[\w.]*\.)?SparkListener(?P<name>\w+)"')
# as JobNotes.java writes it: in a property of its own, and before that in the description alone
_NOTES = ("lakesieve.files", "spark.job.description")
_BEGIN = "lakesieve reads "
_READ = re.compile(r"(?P<read>\d+) of \d+ data files of (?P<table>.+?) \(index [^)]*\)")
_DAY = 86_400_000.0
_MAX_PROBLEMS = 20
# millions of empty lines take a file of some kilobytes when it is compressed
_MAX_STRANGE = 100_000
# what an event raises that is cut off, or has other things than Spark writes
_NOT_WHOLE = (
    *(ValueError, TypeError, KeyError, AttributeError, RecursionError),
    # a number that no computation takes, such as 1e400
    ArithmeticError,
)
# accumulators of queries that never ended
_MAX_OPEN = 10_000


@dataclass(slots=True, eq=False)
class _Span:
    """From the first of some times to the last, in milliseconds."""

    first: float = math.inf
    last: float = -math.inf

    def add(self, *times: int) -> None:
        self.first = min(self.first, *times)
        self.last = max(self.last, *times)

    @property
    def length(self) -> float:
        return max(self.last - self.first, 0)


@dataclass(slots=True, kw_only=True, eq=False)
class _Execution:
    """A query that has begun."""

    scans: list[TableScan]
    started: int
    tasks: _Span = field(default_factory=_Span)
    counted: Counter[int] = field(default_factory=Counter)
    stages: list[int] = field(default_factory=list)
    note: str = ""


def read_event_logs(
    locations: Iterable[str],
    tables: Sequence[KnownTable],
    options: StorageOptions | None = None,
) -> UsesRead:
    """Read what queries did with tables.

    What cannot be read is named and left out; the rest counts.
    """
    files = [file for location in locations for file in log_files(location, options)]
    found = _Reading(tables)
    for file in files:
        found.read(file)
    return found.result()


class _Reading:
    def __init__(self, tables: Sequence[KnownTable]) -> None:
        self._tables = tables
        self._uses: list[TableUse] = []
        self._problems: list[str] = []
        self._executions: dict[int, _Execution] = {}
        # the query of each stage; and the accumulators that count something of any
        self._stages: dict[int, int] = {}
        self._metrics: set[int] = set()
        self._queries = 0
        self._span = _Span()

    def result(self) -> UsesRead:
        """Return all that was read."""
        # what ran for an hour is taken for what runs each day
        days = max(self._span.length / _DAY, 1.0)
        return UsesRead(
            uses=tuple(replace(use, a_day=1 / days) for use in self._uses),
            queries=self._queries,
            days=days,
            problems=tuple(self._problems),
        )

    def read(self, file: LogFile) -> None:
        """Read one file; what follows something unreadable in it may be lost."""
        lines = events = strange = 0
        try:
            for line in file.lines():
                lines += 1
                name = _EVENT.match(line)
                strange = 0 if name else strange + 1
                if strange > _MAX_STRANGE:
                    raise OSError(f"{_MAX_STRANGE} lines in a row are no events")
                if name is None:
                    continue
                act = _ACTS.get(name["name"])
                if act is None:
                    events += 1
                    continue
                try:
                    event = json.loads(line)
                    act(self, event)
                    events += 1
                except _NOT_WHOLE:
                    self._problem(f"{file.name}: line {lines} is no whole event; it is left out")
        except (OSError, pa.ArrowException) as error:
            if isinstance(error, LakesieveError) and not events:
                self._problem(str(error))
            else:
                short = str(error).partition("\n")[0][:120]
                self._problem(f"{file.name}: ends after {events} events ({short})")
        except LakesieveError as error:
            self._problem(str(error))
        else:
            if lines and not events:
                self._problem(f"{file.name}: is no event log of Spark; it is left out")
        if not file.path.rpartition("/")[2].startswith("events_"):
            self._begin_application()

    def _problem(self, text: str) -> None:
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(text)

    def _begin_application(self) -> None:
        """Numbers begin again with each."""
        self._executions.clear()
        self._stages.clear()
        self._metrics.clear()

    def _application_start(self, event: dict[str, Any]) -> None:
        self._begin_application()
        self._span.add(_whole(event["Timestamp"]))

    def _execution_start(self, event: dict[str, Any]) -> None:
        number, at = _whole(event["executionId"]), _whole(event["time"])
        self._queries += 1
        self._span.add(at)
        if len(self._executions) >= _MAX_OPEN:
            self._forget(next(iter(self._executions)))
        self._executions[number] = _Execution(scans=[], started=at)
        self._planned(event)

    def _planned(self, event: dict[str, Any]) -> None:
        execution = self._executions.get(_whole(event["executionId"]))
        scans = scans_of(event["sparkPlanInfo"], self._tables) if execution else []
        if execution is not None and scans:
            execution.scans = scans
            for scan in scans:
                self._metrics |= scan.metrics

    def _driver_metrics(self, event: dict[str, Any]) -> None:
        execution = self._executions.get(_whole(event["executionId"]))
        if execution is not None:
            for metric, value in event["accumUpdates"]:
                if metric in self._metrics:
                    execution.counted[_whole(metric)] = _whole(value)

    def _job_start(self, event: dict[str, Any]) -> None:
        properties = event.get("Properties") or {}
        number = properties.get("spark.sql.execution.id")
        if number is None:
            return
        execution = self._executions.get(_whole(number))
        if execution is not None and execution.scans:
            notes = [str(properties.get(name, "")) for name in _NOTES]
            execution.note = next((n for n in notes if n.startswith(_BEGIN)), execution.note)
            for stage in event["Stage IDs"]:
                execution.stages.append(_whole(stage))
                self._stages[_whole(stage)] = _whole(number)

    def _task_end(self, event: dict[str, Any]) -> None:
        number = self._stages.get(_whole(event["Stage ID"]))
        execution = None if number is None else self._executions.get(number)
        if execution is None:
            return
        info = event["Task Info"]
        for one in info.get("Accumulables") or ():
            metric = one.get("ID")
            if metric in self._metrics and "Update" in one:
                execution.counted[metric] += _whole(one["Update"])
        read = ((event.get("Task Metrics") or {}).get("Input Metrics") or {}).get("Bytes Read", 0)
        if read:
            execution.tasks.add(_whole(info["Launch Time"]), _whole(info["Finish Time"]))

    def _execution_end(self, event: dict[str, Any]) -> None:
        number, at = _whole(event["executionId"]), _whole(event["time"])
        self._span.add(at)
        execution = self._forget(number)
        if execution is None or event.get("errorMessage"):
            return
        # what reading took, where tasks tell it; else all of the query
        seconds = (at - execution.started) / 1000
        if execution.tasks.first <= execution.tasks.last:
            seconds = min(seconds, execution.tasks.length / 1000)
        counted = execution.counted
        for scan in _each_once(execution.scans):
            joined: dict[tuple[str, ...], int | None] = {}
            for column, metric in scan.joined:
                rows = None if metric is None else counted.get(metric)
                joined[column] = rows if rows is not None else joined.get(column)
            files = None if scan.files is None else counted.get(scan.files)
            noted = self._noted(execution.note, scan.table)
            if noted:
                # what Iceberg counts is before indexes left out files
                files = noted[0] if len(noted) == 1 else None
            self._uses.append(
                TableUse(
                    table=scan.table,
                    condition=scan.condition,
                    joined=tuple(JoinedColumn(column=c, rows=n) for c, n in joined.items()),
                    files=files,
                    seconds=seconds,
                    text=" AND ".join(scan.text),
                )
            )

    def _noted(self, note: str, table: int) -> list[int]:
        """Return how many data files scans of a table read, by the note of the optimizer rule."""
        known = self._tables[table]
        return [
            int(found["read"])
            for found in _READ.finditer(note)
            if known.is_called(found["table"], found["table"])
        ]

    def _forget(self, number: int) -> _Execution | None:
        execution = self._executions.pop(number, None)
        if execution is not None:
            for stage in execution.stages:
                self._stages.pop(stage, None)
            for scan in execution.scans:
                self._metrics -= scan.metrics
        return execution


def _whole(value: Any) -> int:
    """Return a number, a time or a count of an event: Spark writes such as fit into 64 bits."""
    number = int(value)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError("a number that is none of Spark's")
    return number


def _each_once(scans: Sequence[TableScan]) -> list[TableScan]:
    """Return the scans of a query; two scans of a table for one condition count once."""
    found: dict[tuple[int, str], TableScan] = {}
    for scan in sorted(scans, key=lambda scan: scan.rewrites):
        others = [one for one in found.values() if one.table == scan.table]
        key = (scan.table, repr(scan.condition))
        held = others[0] if scan.rewrites and others else found.setdefault(key, scan)
        if held is not scan:
            held.joined += [one for one in scan.joined if one not in held.joined]
    return list(found.values())


_ACTS: dict[bytes, Callable[[_Reading, dict[str, Any]], None]] = {
    b"ApplicationStart": _Reading._application_start,
    b"SQLExecutionStart": _Reading._execution_start,
    b"SQLAdaptiveExecutionUpdate": _Reading._planned,
    b"DriverAccumUpdates": _Reading._driver_metrics,
    b"JobStart": _Reading._job_start,
    b"TaskEnd": _Reading._task_end,
    b"SQLExecutionEnd": _Reading._execution_end,
}
