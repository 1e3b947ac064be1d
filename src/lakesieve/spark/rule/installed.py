"""The optimizer rule in a session: compiled by Janino, installed, its report read."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from lakesieve.spark.deletes.memory import ROOM, executor
from lakesieve.spark.deletes.scan import join_scan, joins_deletes
from lakesieve.spark.rule.planning import Pruner
from lakesieve.spark.rule.sources import DELETE_JOINS, RULE, extension_of, scans_of
from lakesieve.spark.tables.registry import formats_in
from lakesieve.spark.versions.callbacks import Callback, hear_callbacks, key_of_session
from lakesieve.spark.versions.janino import JavaSources
from lakesieve.spark.versions.java_classes import java_class, java_list, scala_seq
from lakesieve.spark.versions.spark_versions import check_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lakesieve.index import Plan
    from lakesieve.storage import StorageOptions

__all__ = ["InstalledRule", "installed_rule"]

_RULE = "lakesieve.PruningRule"
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
        rule: The ``PruningRule``.
        install: Puts the rule into the session's optimizer in the place of an extension's, or
            takes it out, where the second argument says whether the extension's comes back; called
            for each change, also where nothing is to be done.
        pruner: What answers the rule.
    """

    def __init__(self, rule: Any, install: Callable[[bool, bool], None], pruner: Pruner) -> None:
        self.pruner = pruner
        self._rule = rule
        self._install = install
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
        """Prune scans from now on.

        Args:
            locations: Further roots to search for indexes.
            options: Tells the settings with which a location is reached.
        """
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
        """Prune scans for a while, whatever other threads switch meanwhile.

        Args:
            location: A further root to search for indexes as long.
            options: Tells the settings with which a location is reached.
        """
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

        Args:
            spark: The session.
            uuid: The table's identity.
            plan: What is known of its files.
        """
        from py4j.clientserver import ClientServer

        # else threads of Python share those of Java, and its local properties
        if not isinstance(spark.sparkContext._gateway, ClientServer):
            yield
            return
        name = uuid4().hex
        before = spark.sparkContext.getLocalProperty(_GIVEN)
        self.pruner.give(name, uuid, plan)
        spark.sparkContext.setLocalProperty(_GIVEN, name)
        try:
            yield
        finally:
            spark.sparkContext.setLocalProperty(_GIVEN, before)  # type: ignore[arg-type]
            self.pruner.take_back(name)

    @contextmanager
    def raw_reads(self, paths: pa.ChunkedArray | None = None) -> Iterator[str]:
        """Have the rule in the optimizer for raw reads.

        Args:
            paths: The data files to read; all if not given.

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
        self.pruner.relocate(locations, options or self.pruner.options)
        self._install(self.active or self._raw_reads > 0, not self._decided)
        self._rule.setActive(self.active)


class _Optimizer:
    """The rules that a session adds to Spark's own, with one of lakesieve's."""

    def __init__(self, spark: SparkSession, *callbacks: Callback) -> None:
        self._spark = spark
        # py4j keeps only a weak hold on them
        self._callbacks = callbacks
        self.rule = _instantiate(spark, *callbacks)
        # rules of the extension, which this one stands for
        self._replaced: list[Any] = []

    def install(self, present: bool, others: bool) -> None:
        """Have the rule among them once, or not, and then an extension's again or not."""
        experimental = self._spark._jsparkSession.experimental()
        rules = java_list(self._spark)
        current = experimental.extraOptimizations().iterator()
        while current.hasNext():
            rule = current.next()
            if rule.equals(self.rule):
                continue
            if str(rule.getClass().getName()) == _RULE:
                self._replaced.append(rule)
            else:
                rules.add(rule)
        if present:
            rules.add(self.rule)
        for rule in self._replaced:
            self._switch(rule, on=not present and others)
            if not present and others:
                rules.add(rule)
        if not present and others:
            self._replaced.clear()
        getattr(experimental, "extraOptimizations_$eq")(scala_seq(self._spark, rules))

    def _switch(self, rule: Any, *, on: bool) -> None:
        # py4j knows classes by name alone, and this one is of another loader
        (method,) = (m for m in rule.getClass().getMethods() if m.getName() == "setActive")
        method.invoke(rule, java_list(self._spark, (on,)).toArray())


def installed_rule(spark: SparkSession) -> InstalledRule:
    """Get the session's rule, compiling it at the first call (about a second).

    Raises:
        UnsupportedError: A session in which the rule cannot work.
    """
    check_session(spark)
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
    pruner = Pruner()
    optimizer = _Optimizer(spark, Callback(pruner.answer), Callback(partial(_joined, spark)))
    return InstalledRule(optimizer.rule, optimizer.install, pruner)


def _joined(spark: SparkSession, scan: Any) -> Any:
    try:
        return join_scan(spark, scan)
    except Exception as error:  # noqa: BLE001 - the scan stays as it was
        # py4j would send all of its own stack
        return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def _instantiate(spark: SparkSession, answer: Callback, join: Callback) -> Any:
    formats = formats_in(spark)
    adapters = [scans_of(spec).new(spark, f"lakesieve.{spec.scans}") for spec in formats]
    joins = None
    if joins_deletes(spark):
        tasks, heap = executor(spark)
        limit = int(ROOM * heap)
        given = (spark._jsparkSession, join, tasks, limit)
        joins = JavaSources(*DELETE_JOINS).new(spark, "lakesieve.DeleteJoins", *given)
    rule = JavaSources(*RULE)
    interface = rule.type(spark, "lakesieve.ScanAdapter")
    arrays = java_class(spark, "java.lang.reflect.Array")
    listed = arrays.newInstance(interface, len(adapters))
    for number, adapter in enumerate(adapters):
        listed[number] = adapter
    installed = rule.new(spark, _RULE, answer, listed, joins)
    for spec, adapter in zip(formats, adapters, strict=True):
        extension = extension_of(spec)
        if extension is not None:
            extension.call(spark, "install", spark._jsparkSession, installed, adapter)
    return installed
