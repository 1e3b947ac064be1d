"""The optimizer rule in a session: installed, its report read."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.planner import Planner
from lakesieve.spark.deletes.read import join_scan, joins_deletes
from lakesieve.spark.deletes.status import ROOM, executor
from lakesieve.spark.rule.suitability import problem_of
from lakesieve.spark.versions.callbacks import Callback, hear_callbacks, key_of_session
from lakesieve.spark.versions.jar import own_class, send_to_executors
from lakesieve.spark.versions.spark_versions import SPARK_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lakesieve.index import Plan
    from lakesieve.storage import StorageOptions

_GIVEN = "lakesieve.given"
# paths that are sent to the rule at once
_SELECTED = 10_000
# rules of sessions that do not skip files, which are kept for what they may still report
_MAX_IDLE = 64
# by application and session
_RULES: dict[tuple[str, str], InstalledRule] = {}
_LOCK = threading.Lock()


class InstalledRule:
    """The rule of one session; kept for the session's life, in or out of its optimizer.

    Threads may share it: what is wanted and what is installed change together, under one lock.

    Args:
        java: The ``InstalledRule`` of Java, which has the rule.
        planner: What answers the rule.
        callbacks: What Java calls, kept here because py4j keeps only a weak hold on it.
    """

    def __init__(self, java: Any, planner: Planner, callbacks: tuple[Callback, ...]) -> None:
        self.planner = planner
        self._java = java
        self._rule = java.rule()
        self._callbacks = callbacks
        self._lock = threading.Lock()
        self._enabled = False
        self._locations: tuple[str, ...] = ()
        # of commands that have skipping on while they run, the further root of each
        self._commands: list[tuple[str, ...]] = []
        self._raw_reads = 0
        # whether it was said here if files are skipped, not by an extension alone
        self._decided = False

    @property
    def active(self) -> bool:
        """True while the rule prunes scans."""
        return self._enabled or bool(self._commands)

    @property
    def is_idle(self) -> bool:
        """True while the session has no use for the rule."""
        return not self.active and not self._raw_reads

    def enable(self, locations: Iterable[str], options: StorageOptions) -> None:
        """Prune scans from now on."""
        with self._lock:
            self._enabled, self._locations = True, tuple(dict.fromkeys(locations))
            self._decided = True
            self._settle(options)

    def disable(self) -> None:
        """Leave scans as they are from now on, but for commands that are under way."""
        with self._lock:
            self._enabled, self._decided = False, True
            self._settle()

    @contextmanager
    def skipping(self, location: str | None, options: StorageOptions) -> Iterator[None]:
        """Prune scans for a while, whatever other threads switch meanwhile."""
        command = () if location is None else (location,)
        with self._lock:
            self._commands.append(command)
        try:
            with self._lock:
                self._settle(options)
            yield
        finally:
            with self._lock:
                self._commands.remove(command)
                self._settle()

    @contextmanager
    def given(self, spark: SparkSession, uuid: str, plan: Plan) -> Iterator[None]:
        """Have what this thread reads of a table meanwhile pruned by a plan, by nothing else.

        Only where skipping is on. What reads the table for other reasons must not run meanwhile.
        """
        from py4j.clientserver import ClientServer

        # else threads of Python share those of Java, and its local properties
        if not isinstance(spark.sparkContext._gateway, ClientServer):
            yield
            return
        name = uuid4().hex
        before = spark.sparkContext.getLocalProperty(_GIVEN)
        self.planner.give(name, uuid, plan)
        spark.sparkContext.setLocalProperty(_GIVEN, name)
        try:
            yield
        finally:
            spark.sparkContext.setLocalProperty(_GIVEN, before)  # type: ignore[arg-type]
            self.planner.take_back(name)

    @contextmanager
    def raw_reads(self, paths: pa.ChunkedArray | None = None) -> Iterator[str]:
        """Have the rule in the optimizer for raw reads.

        Yields:
            The name of that selection, for ``Table.raw_rows``.
        """
        name = ""
        if paths is not None:
            name = uuid4().hex
            for start in range(0, max(len(paths), 1), _SELECTED):
                chunk = paths.slice(start, _SELECTED).to_pylist()
                self._rule.select(name, "\0".join(chunk))
        with self._lock:
            self._raw_reads += 1
        try:
            with self._lock:
                self._settle()
            yield name
        finally:
            with self._lock:
                self._raw_reads -= 1
                self._settle()
            if name:
                self._rule.deselect(name)

    def report(self) -> list[dict[str, Any]]:
        """What the latest query did, one entry a table scan."""
        rows: list[dict[str, Any]] = json.loads(self._rule.report())
        return rows

    def forget(self) -> None:
        """Have nothing to report until the next query."""
        self._rule.forget()

    def _settle(self, options: StorageOptions | None = None) -> None:
        """Have the session do what is wanted now; the lock is held."""
        further = (root for command in self._commands for root in command)
        locations = tuple(dict.fromkeys((*self._locations, *further)))
        self.planner.relocate(locations, options or self.planner.options)
        self._java.place(self.active or self._raw_reads > 0, not self._decided)
        self._rule.setActive(self.active)


def installed_rule(spark: SparkSession) -> InstalledRule:
    """Get the session's rule, made at the first call.

    Raises:
        UnsupportedError: A session in which the rule cannot work.
    """
    problem = problem_of(spark)
    if problem is not None:
        raise UnsupportedError(
            f"{problem}.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint=f"Use Spark {' or '.join(tested.name for tested in SPARK_VERSIONS)}.",
        )
    key = key_of_session(spark)
    with _LOCK:
        # a process has one application at a time: those before it were stopped
        for other in [other for other in _RULES if other[0] != key[0]]:
            del _RULES[other]
        if key not in _RULES:
            # sessions that came and went without a trace
            for idle in [other for other, rule in _RULES.items() if rule.is_idle][:-_MAX_IDLE]:
                del _RULES[idle]
            _RULES[key] = _made(spark)
        return _RULES[key]


def _made(spark: SparkSession) -> InstalledRule:
    hear_callbacks(spark)
    send_to_executors(spark)
    planner = Planner()
    answer, join = Callback(planner.answer), Callback(partial(_joined, spark))
    joins = _delete_joins(spark, join)
    java = own_class(spark, "rule.InstalledRule")(spark._jsparkSession, answer, joins)
    return InstalledRule(java, planner, (answer, join))


def _joined(spark: SparkSession, scan: Any) -> Any:
    try:
        return join_scan(spark, scan)
    except Exception as error:  # noqa: BLE001 - the scan stays as it was
        # py4j would send all of its own stack
        return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def _delete_joins(spark: SparkSession, join: Callback) -> Any:
    """What joins equality deletes that need too much memory; ``None`` where nothing can."""
    if not joins_deletes(spark):
        return None
    tasks, heap = executor(spark)
    limit = int(ROOM * heap)
    return own_class(spark, "deletes.DeleteJoins")(spark._jsparkSession, join, tasks, limit)
