"""Rounds of maintenance as metrics for Prometheus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.defaults import ADDRESS
from lakesieve.errors import ErrorKind, StorageError, not_installed

try:
    from prometheus_client import CollectorRegistry, Counter, Gauge, start_http_server
except ImportError as error:
    raise not_installed("prometheus_client is not installed.", "serve") from error

if TYPE_CHECKING:
    from lakesieve.index.maintenance import TableMaintenance


class MaintenanceMetrics:
    """What the rounds of one process came to, by table."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        by_table = ["table"]

        def gauge(name: str, text: str) -> Gauge:
            return Gauge(f"lakesieve_{name}", text, by_table, registry=self.registry)

        self._files = gauge("files", "Live data files.")
        self._lag_files = gauge("lag_files", "Files no index had seen when a round began.")
        self._lag_seconds = gauge("lag_seconds", "Age of what indexes had seen when a round began.")
        self._bytes = gauge("index_bytes", "Bytes of the declared indexes.")
        self._seconds = gauge("round_seconds", "How long the last round took.")
        self._last = gauge("last_round_timestamp_seconds", "When the last round ended.")
        counted = ["table", "action", "outcome"]
        self._steps = Counter(
            "lakesieve_steps", "Steps that were done or failed.", counted, registry=self.registry
        )
        self._failed = Counter(
            "lakesieve_failed_rounds",
            "Rounds in which something failed.",
            by_table,
            registry=self.registry,
        )

    def observe(self, done: TableMaintenance) -> None:
        """Take in one round of one table."""
        table = done.table
        self._seconds.labels(table).set(done.seconds)
        self._last.labels(table).set_to_current_time()
        failed = self._failed.labels(table)
        if not done.holds:
            failed.inc()
        for step in done.steps:
            if step.done or step.error is not None:
                outcome = "failed" if step.error is not None else "done"
                self._steps.labels(table, step.action, outcome).inc()
        if done.error is None:
            self._files.labels(table).set(done.files)
            self._lag_files.labels(table).set(done.lag_files)
            self._lag_seconds.labels(table).set(done.lag_seconds)
            self._bytes.labels(table).set(done.bytes)

    def serve(self, port: int, host: str = ADDRESS) -> None:
        """Serve the metrics from now on, at ``/metrics``."""
        try:
            start_http_server(port, addr=host, registry=self.registry)
        except OSError as error:
            raise StorageError(
                f"Port {port} of {host} cannot be opened: {error.strerror or error}.",
                kind=ErrorKind.STORAGE_FAILED,
                hint="Give another --metrics-port or --metrics-host.",
            ) from error
