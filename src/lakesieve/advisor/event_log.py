"""Read Spark's event logs: the conditions and joins of queries on tables, and their times."""

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
# JobNotes.java writes the notes to a property; earlier versions wrote them only to the description
_NOTES = ("lakesieve.files", "spark.job.description")
_BEGIN = "lakesieve reads "
_READ = re.compile(r"(?P<read>\d+) of \d+ data files of (?P<table>.+?) \(index [^)]*\)")
_DAY = 86_400_000.0
_MAX_PROBLEMS = 20
# compressed, millions of empty lines fit in a file of a few kilobytes
_MAX_STRANGE = 100_000
# exceptions for an event that is incomplete, or that Spark did not write
_NOT_WHOLE = (
    *(ValueError, TypeError, KeyError, AttributeError, RecursionError),
    # a number that no arithmetic accepts, such as 1e400
    ArithmeticError,
)
# most accumulators of unfinished queries
_MAX_OPEN = 10_000


@dataclass(slots=True, eq=False)
class _Span:
    """The time from the first to the last of some times, in milliseconds."""

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

    The result names what cannot be read; the rest counts.
    """
    files = [file for location in locations for file in log_files(location, options)]
    reading = _Reading(tables)
    for file in files:
        reading.read(file)
    return reading.result()


class _Reading:
    def __init__(self, tables: Sequence[KnownTable]) -> None:
        self._tables = tables
        self._uses: list[TableUse] = []
        self._problems: list[str] = []
        self._executions: dict[int, _Execution] = {}
        # the query of each stage, and the accumulators that count something in a query
        self._stages: dict[int, int] = {}
        self._metrics: set[int] = set()
        self._queries = 0
        self._span = _Span()

    def result(self) -> UsesRead:
        """Return the table uses and the problems from all files that were read."""
        # a log of less than a day counts as a typical day
        days = max(self._span.length / _DAY, 1.0)
        return UsesRead(
            uses=tuple(replace(use, a_day=1 / days) for use in self._uses),
            queries=self._queries,
            days=days,
            problems=tuple(self._problems),
        )

    def read(self, file: LogFile) -> None:
        """Read one file. What follows an unreadable part may be lost."""
        lines = events = strange = 0
        try:
            for line in file.lines():
                lines += 1
                name = _EVENT.match(line)
                strange = 0 if name else strange + 1
                if strange > _MAX_STRANGE:
                    raise OSError(f"{_MAX_STRANGE} consecutive lines are not events")
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
                    self._problem(
                        f"{file.name}: line {lines} is not a complete event and is left out"
                    )
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
                self._problem(f"{file.name}: is not an event log of Spark and is left out")
        if not file.path.rpartition("/")[2].startswith("events_"):
            self._begin_application()

    def _problem(self, text: str) -> None:
        if len(self._problems) < _MAX_PROBLEMS:
            self._problems.append(text)

    def _begin_application(self) -> None:
        """Start again with ids, which are unique only within an application."""
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
        # the reading time of tasks if they report it, else the time of the whole query
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
                # Iceberg counts the files before indexes skip any
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
        """Return how many data files the scans of a table read, as the optimizer rule noted it."""
        table_known = self._tables[table]
        return [
            int(match["read"])
            for match in _READ.finditer(note)
            if table_known.is_called(match["table"], match["table"])
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
    """Return a number, time or count of an event. Spark writes values that fit 64 bits."""
    number = int(value)
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError("a number that Spark cannot have written")
    return number


def _each_once(scans: Sequence[TableScan]) -> list[TableScan]:
    """Return the scans of a query. Two scans of a table with one condition count once."""
    distinct: dict[tuple[int, str], TableScan] = {}
    for scan in sorted(scans, key=lambda scan: scan.rewrites):
        others = [one for one in distinct.values() if one.table == scan.table]
        key = (scan.table, repr(scan.condition))
        first = others[0] if scan.rewrites and others else distinct.setdefault(key, scan)
        if first is not scan:
            first.joined += [one for one in scan.joined if one not in first.joined]
    return list(distinct.values())


_ACTS: dict[bytes, Callable[[_Reading, dict[str, Any]], None]] = {
    b"ApplicationStart": _Reading._application_start,
    b"SQLExecutionStart": _Reading._execution_start,
    b"SQLAdaptiveExecutionUpdate": _Reading._planned,
    b"DriverAccumUpdates": _Reading._driver_metrics,
    b"JobStart": _Reading._job_start,
    b"TaskEnd": _Reading._task_end,
    b"SQLExecutionEnd": _Reading._execution_end,
}
