"""The optimizer rule in a session: compiled by Janino, installed, asked for its report."""

from __future__ import annotations

import json
import threading
import uuid
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from lakesieve.deletes.memory import ROOM, executor
from lakesieve.deletes.scan import join_scan
from lakesieve.spark.pruning import Pruner
from lakesieve.spark.session import check_session
from lakesieve.tables.janino import JavaSources, has_format
from lakesieve.tables.lines import LINES, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql import SparkSession

__all__ = ["InstalledRule", "installed_rule"]

_BASE = (
    "tables/FileScans",
    *(f"spark/{n}" for n in ("KeepSet", "IdentitySet", "ScanAdapter", "FoundScan", "ScanJoins")),
)
# one class a compilation unit, each may use those before it
_RULE = (
    *_BASE,
    *(f"spark/{n}" for n in ("CatalystJson", "Replacement", "KeyValues", "ReachedScan")),
    *(f"spark/{n}" for n in ("JoinSide", "JoinKeys")),
    *(f"spark/{n}" for n in ("FileOrdinals", "ScanReport", "PruningRule")),
)
_FILES = (*_RULE, "spark/FileRelations", "spark/KeptFileIndex")
_ADAPTERS = {
    "iceberg": ("IcebergScans", (*_BASE, "spark/CatalystJson", "spark/IcebergScans")),
    "delta": (
        "DeltaScans",
        (*_FILES, "tables/DeltaFiles", "spark/KeptDeltaFiles", "spark/DeltaScans"),
    ),
    "hudi": ("HudiScans", (*_FILES, "tables/HudiFiles", "spark/HudiScans")),
    "parquet": ("ParquetScans", (*_FILES, "spark/ParquetScans")),
}
_JOINS = (*_ADAPTERS["iceberg"][1], "deletes/DeleteMemory", "spark/DeleteJoins")
_RULES: dict[str, InstalledRule] = {}
_LOCK = threading.Lock()


class _Callback:
    """A ``java.util.function.Function`` that answers in Python."""

    def __init__(self, answer: Callable[[str], str]) -> None:
        self._answer = answer

    def apply(self, request: str) -> str:
        return self._answer(request)

    class Java:
        implements = ("java.util.function.Function",)


class InstalledRule:
    """The rule of one session; kept for the session's life, in or out of its optimizer."""

    def __init__(self, spark: SparkSession) -> None:
        from pyspark.java_gateway import ensure_callback_server_started

        self._spark = spark
        self.pruner = Pruner()
        gateway = spark.sparkContext._gateway
        ensure_callback_server_started(gateway)  # type: ignore[no-untyped-call]
        # py4j keeps only a weak hold on them
        self._answer = _Callback(self.pruner.answer)
        self._join = _Callback(partial(_joined, spark))
        self._rule = _instantiate(spark, self._answer, self._join)
        self._users = 0
        self._lock = threading.Lock()

    @property
    def active(self) -> bool:
        """True while the rule prunes scans."""
        return bool(self._rule.isActive())

    def activate(self, *, active: bool) -> None:
        """Switch pruning on or off in this session."""
        if active == self.active:
            return
        self._hold() if active else self._release()
        self._rule.setActive(active)

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
            name = uuid.uuid4().hex
            self._rule.select(name, "\n".join(paths.to_pylist()))
        self._hold()
        try:
            yield name
        finally:
            self._release()
            if name:
                self._rule.deselect(name)

    def report(self) -> list[dict[str, Any]]:
        """What the latest query did, one entry a table scan."""
        rows: list[dict[str, Any]] = json.loads(self._rule.report())
        return rows

    def forget(self) -> None:
        """Have nothing to report until the next query."""
        self._rule.forget()

    def _hold(self) -> None:
        with self._lock:
            self._users += 1
            self._install(present=True)

    def _release(self) -> None:
        with self._lock:
            self._users -= 1
            self._install(present=self._users > 0)

    def _install(self, *, present: bool) -> None:
        jvm: Any = self._spark._jvm
        experimental = self._spark._jsparkSession.experimental()
        rules = jvm.java.util.ArrayList()
        current = experimental.extraOptimizations().iterator()
        while current.hasNext():
            rule = current.next()
            if not rule.equals(self._rule):
                rules.add(rule)
        if present:
            rules.add(self._rule)
        getattr(experimental, "extraOptimizations_$eq")(jvm.PythonUtils.toSeq(rules))


def installed_rule(spark: SparkSession) -> InstalledRule:
    """Get the session's rule, compiling it at the first call (about a second).

    Raises:
        UnsupportedError: A session in which the rule cannot work.
    """
    check_session(spark)
    key = f"{spark.sparkContext.applicationId}/{spark._jsparkSession.sessionUUID()}"
    with _LOCK:
        if key not in _RULES:
            _RULES[key] = InstalledRule(spark)
        return _RULES[key]


def _joined(spark: SparkSession, scan: Any) -> Any:
    try:
        return join_scan(spark, scan)
    except Exception as error:  # noqa: BLE001 - the scan stays as it was
        # py4j would send all of its own stack
        return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def _instantiate(spark: SparkSession, answer: _Callback, join: _Callback) -> Any:
    jvm: Any = spark._jvm
    adapters = {
        table_format: JavaSources(*sources).new(spark, f"lakesieve.{name}")
        for table_format, (name, sources) in _ADAPTERS.items()
        if has_format(spark, table_format)
    }
    joins = None
    # equality deletes are planned on the newest line alone
    if has_format(spark, "iceberg") and line_of(spark.version) == LINES[0]:
        tasks, heap = executor(spark)
        limit = int(ROOM * heap)
        given = (spark._jsparkSession, join, tasks, limit)
        joins = JavaSources(*_JOINS).new(spark, "lakesieve.DeleteJoins", *given)
    rule = JavaSources(*_RULE)
    interface = rule.type(spark, "lakesieve.ScanAdapter")
    listed = jvm.java.lang.reflect.Array.newInstance(interface, len(adapters))
    for number, adapter in enumerate(adapters.values()):
        listed[number] = adapter
    installed = rule.new(spark, "lakesieve.PruningRule", answer, listed, joins)
    if "delta" in adapters:
        listing = JavaSources(*_ADAPTERS["delta"][1], "spark/DeltaListing")
        listing.call(spark, "install", spark._jsparkSession, installed, adapters["delta"])
    return installed
