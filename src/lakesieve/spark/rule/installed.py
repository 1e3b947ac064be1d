"""The optimizer rule of a session, which prunes scans and reports what it did."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.planner import Planner
from lakesieve.spark.deletes.read import join_scan, joins_deletes
from lakesieve.spark.deletes.status import ROOM, executor
from lakesieve.spark.rule.suitability import problem_of
from lakesieve.spark.versions.callbacks import Callback, hear_callbacks, key_of_session
from lakesieve.spark.versions.jar import own_class
from lakesieve.spark.versions.spark_versions import SPARK_VERSIONS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lakesieve.index import KeepTree
    from lakesieve.storage import StorageOptions

_GIVEN = "lakesieve.given"
# number of paths that are sent to the rule in one call
_SELECTED = 10_000


class InstalledRule:
    """The rule of one session, kept as long as the session, inside or outside its optimizer.

    Threads may share it. One lock guards both the wanted state and the installed state.
    """

    def __init__(self, java: Any, planner: Planner, callbacks: tuple[Callback, ...]) -> None:
        self.planner = planner
        self._java = java
        self._rule = java.rule()
        self._callbacks = callbacks
        self._lock = threading.Lock()
        self._enabled = False
        self._locations: tuple[str, ...] = ()
        # for each command that skips files while it runs, its further root
        self._commands: list[tuple[str, ...]] = []
        self._raw_reads = 0
        # true once this session called enable() or disable() itself
        self._decided = False

    @property
    def active(self) -> bool:
        """True while the rule prunes scans."""
        return self._enabled or bool(self._commands)

    @property
    def is_idle(self) -> bool:
        """True if nothing in the session needs the rule."""
        return not self.active and not self._raw_reads

    def enable(self, locations: Iterable[str], options: StorageOptions) -> None:
        """Prune scans from now on."""
        with self._lock:
            self._enabled, self._locations = True, tuple(dict.fromkeys(locations))
            self._decided = True
            self._settle(options)

    def disable(self) -> None:
        """Leave scans unchanged from now on. Running commands still prune their own scans."""
        with self._lock:
            self._enabled, self._decided = False, True
            self._settle()

    @contextmanager
    def skipping(self, location: str | None, options: StorageOptions) -> Iterator[None]:
        """Prune scans while the context is open, even if other threads disable the rule."""
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
    def given(self, spark: SparkSession, uuid: str, plan: KeepTree) -> Iterator[None]:
        """While the context is open, prune this thread's reads of the table with ``plan`` only.

        This works only if skipping is on. The thread must run no other query of the table.
        """
        from py4j.clientserver import ClientServer

        # without this mode, Python threads share Java threads and their local properties
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
        """While the context is open, keep the rule in the optimizer for raw reads.

        Yields:
            The name of the selection of data files, for ``SparkTable.raw_rows``.
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
        """Return what the latest query did, one entry for each table scan."""
        rows: list[dict[str, Any]] = json.loads(self._rule.report())
        return rows

    def forget(self) -> None:
        """Clear the report until the next query."""
        self._rule.forget()

    def _settle(self, options: StorageOptions | None = None) -> None:
        """Install or remove the rule as wanted. The caller holds the lock."""
        further = (root for command in self._commands for root in command)
        locations = tuple(dict.fromkeys((*self._locations, *further)))
        self.planner.relocate(locations, options or self.planner.options)
        self._java.place(self.active or self._raw_reads > 0, not self._decided)
        self._rule.setActive(self.active)


def installed_rule(spark: SparkSession) -> InstalledRule:
    """Return the session's rule, which the first call makes."""
    problem = problem_of(spark)
    if problem is not None:
        raise UnsupportedError(
            f"{problem}.",
            kind=ErrorKind.UNSUPPORTED_SESSION,
            hint=f"Use Spark {' or '.join(tested.name for tested in SPARK_VERSIONS)}.",
        )
    return _RULES.of(spark)


@dataclass(slots=True, kw_only=True)
class SessionRules:
    """The rules of all sessions of this process.

    Args:
        most_idle: Number of rules that are kept for sessions that do not skip files. Their reports
            can still be read.
        rules: The rules by application and session.
    """

    most_idle: int = 64
    rules: dict[tuple[str, str], InstalledRule] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, spark: SparkSession) -> InstalledRule:
        """Return the session's rule, which the first call makes."""
        key = key_of_session(spark)
        with self._lock:
            # a process runs one application at a time, so those of other applications were stopped
            for other in [other for other in self.rules if other[0] != key[0]]:
                del self.rules[other]
            if key not in self.rules:
                # sessions may end without notice
                idle = [other for other, rule in self.rules.items() if rule.is_idle]
                for other in idle[: -self.most_idle]:
                    del self.rules[other]
                self.rules[key] = _made(spark)
            return self.rules[key]


_RULES = SessionRules()


def _made(spark: SparkSession) -> InstalledRule:
    hear_callbacks(spark)
    planner = Planner()
    answer, join = Callback(planner.answer), Callback(partial(_joined, spark))
    joins = _delete_joins(spark, join)
    java = own_class(spark, "rule.InstalledRule")(spark._jsparkSession, answer, joins)
    return InstalledRule(java, planner, (answer, join))


def _joined(spark: SparkSession, scan: Any) -> Any:
    try:
        return join_scan(spark, scan)
    except Exception as error:  # noqa: BLE001 - the scan stays as it was
        # py4j would send its whole stack
        return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def _delete_joins(spark: SparkSession, join: Callback) -> Any:
    """Return the Java object that joins costly equality deletes, or ``None`` if there is none."""
    if not joins_deletes(spark):
        return None
    tasks, heap = executor(spark)
    limit = int(ROOM * heap)
    return own_class(spark, "deletes.DeleteJoins")(spark._jsparkSession, join, tasks, limit)
