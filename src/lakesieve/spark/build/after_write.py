"""Refresh indexes in the background after the commits of a session, one table at a time."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError, NotFoundError
from lakesieve.index import RefreshResult
from lakesieve.printable import printable_line
from lakesieve.spark.build.refresh import refresh_each
from lakesieve.spark.session.access import access_by
from lakesieve.spark.tables import open_table
from lakesieve.spark.versions.callbacks import Callback, hear_callbacks, key_of_session
from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

    from lakesieve.spark.tables import SparkTable

AFTER_WRITE = "after-write"
"""The value of ``refresh`` that refreshes the indexes of a table after each commit to it."""

_REFRESHES = (AFTER_WRITE, "never", None)

_LOG = logging.getLogger("lakesieve.refresh")
# longest wait for Spark's pending events when listening ends, in milliseconds
_EVENTS_MS = 10_000
_LOCK = threading.Lock()
# listeners by application and session
_LISTENING: dict[tuple[str, str], _AfterWrites] = {}
# uuids of tables whose indexes a command refreshes itself, with the number of such commands
_BY_COMMANDS: Counter[str] = Counter()


def check_refresh(refresh: str | None) -> bool:
    """Return whether indexes are refreshed after a write. Refuse an unknown value."""
    if refresh not in _REFRESHES:
        raise InvalidInputError(
            f"refresh={refresh!r} is not a known value.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=f"Give {AFTER_WRITE!r}, or 'never'.",
        )
    return refresh == AFTER_WRITE


def refresh_after_writes(
    spark: SparkSession, *, wanted: bool, locations: tuple[str, ...] = ()
) -> None:
    """Start or stop refreshing the indexes of each table after this session's commits to it.

    Stopping waits for the refreshes that are due.
    """
    key = key_of_session(spark)
    with _LOCK:
        # a process runs one application at a time, so those of other applications were stopped
        for other in [other for other in _LISTENING if other[0] != key[0]]:
            _LISTENING.pop(other).forget()
        before = _LISTENING.pop(key, None)
    if before is not None:
        before.end()
    if wanted:
        begun = _AfterWrites(spark, locations)
        with _LOCK:
            _LISTENING[key] = begun


@contextmanager
def refreshing_itself(table: SparkTable, *, does: bool) -> Iterator[None]:
    """While the context is open, a command refreshes the indexes of this table itself."""
    with _LOCK:
        _BY_COMMANDS[table.reader.uuid] += does
    try:
        yield
    finally:
        with _LOCK:
            _BY_COMMANDS[table.reader.uuid] -= does
            if not _BY_COMMANDS[table.reader.uuid]:
                del _BY_COMMANDS[table.reader.uuid]


class _AfterWrites:
    """The listener to one session, and the thread that refreshes."""

    def __init__(self, spark: SparkSession, locations: tuple[str, ...]) -> None:
        self._spark = spark
        self._locations = locations
        self._written: dict[str, None] = {}
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        hear_callbacks(spark)
        self._callback = Callback(self._hear)
        self._listener = own_class(spark, "build.WrittenTables")(self._callback)
        self._listener.begin()
        self._session: Any = spark._jsparkSession
        self._session.listenerManager().register(self._listener)
        self._session.streams().addListener(self._listener)

    def end(self) -> None:
        """Stop listening, and wait until the written tables are refreshed."""
        # Spark delivers the events of commits with a delay
        with suppress(Exception):
            self._spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(_EVENTS_MS)
        self._session.listenerManager().unregister(self._listener)
        self._session.streams().removeListener(self._listener)
        self._listener.end()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()

    def forget(self) -> None:
        """Stop listening for a session that was stopped. Its JVM may be gone as well."""
        with suppress(Exception):
            self._listener.end()

    def _hear(self, tables: str) -> str:
        """Note the names of written tables. The thread of Spark's events calls this."""
        with self._changed:
            self._written |= dict.fromkeys(tables.split("\0"))
            if self._thread is None:
                # not a daemon: the process ends only after the last commit is indexed
                self._thread = threading.Thread(target=self._run, name="lakesieve-after-write")
                self._thread.start()
        return ""

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._written:
                    self._thread = None
                    return
                name = next(iter(self._written))
                # removed before the refresh, so that a commit during the refresh is noted again
                del self._written[name]
            try:
                self._refresh(name)
            except Exception as error:  # noqa: BLE001 - it belongs to no query
                if self._spark.sparkContext._jsc is not None:
                    _warn(name, "its indexes", error)

    def _refresh(self, name: str) -> None:
        try:
            table = open_table(self._spark, name)
        except NotFoundError:
            return
        with _LOCK:
            if _BY_COMMANDS[table.reader.uuid]:
                return
        access = access_by(self._spark)
        stores = access.stores(table.reader)
        for location in self._locations:
            stores = access.stores(table.reader, location) | stores
        if not stores:
            return
        for index, outcome in refresh_each(self._spark, table, stores).items():
            if isinstance(outcome, RefreshResult):
                names = map(printable_line, (name, index))
                _LOG.info("%s: %s covers %d more files", *names, outcome.files)
            else:
                _warn(name, index, outcome)


def _warn(table: str, what: str, error: Exception) -> None:
    is_clear = isinstance(error, LakesieveError)
    text = str(error) if is_clear else f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    _LOG.warning(
        "After a write to %s, %s could not be refreshed. Queries read the new files. %s",
        *map(printable_line, (table, what, text)),
    )
