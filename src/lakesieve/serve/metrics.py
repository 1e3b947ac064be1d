"""Counters of the server, for Prometheus."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
)
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.responses import Response

if TYPE_CHECKING:
    from starlette.requests import Request

    from lakesieve.index import TablePruning

# names the folder in which several processes count together
_BETWEEN_PROCESSES = "PROMETHEUS_MULTIPROC_DIR"

_PLANS = Counter("lakesieve_plans", "Requests for plans and pages of plans.", ["outcome"])
_SECONDS = Histogram(
    "lakesieve_plan_seconds",
    "How long a plan took.",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10),
)
_FILES = Counter("lakesieve_plan_files", "Data files that indexes judged.", ["kept"])
_REASONS = Counter("lakesieve_plan_reasons", "Plans by what was decided in them.", ["code"])
_READ = Counter("lakesieve_manifests_read", "What was read of storage.", ["kind"])
_HELD = Gauge(
    "lakesieve_cache_bytes", "Bytes that are kept of manifests.", multiprocess_mode="livesum"
)


def count_plan(pruning: TablePruning, seconds: float, held: int) -> None:
    """Count a plan."""
    _HELD.set(held)
    _PLANS.labels(outcome="planned").inc()
    _SECONDS.observe(seconds)
    _FILES.labels(kept="true").inc(pruning.files_read)
    _FILES.labels(kept="false").inc(pruning.files_total - pruning.files_read)
    for code in {str(reason.code) for reason in pruning.reasons}:
        _REASONS.labels(code=code).inc()


def count_read(kind: str) -> None:
    """Count a file of metadata that was read: its ``list``, ``files`` or ``paths``."""
    _READ.labels(kind=kind).inc()


def count_failure() -> None:
    """Count a request that got an error instead of a plan."""
    _PLANS.labels(outcome="failed").inc()


async def metrics(_: Request) -> Response:
    """Answer with the counters of all processes of this server."""
    registry: CollectorRegistry = REGISTRY
    if os.environ.get(_BETWEEN_PROCESSES):
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)
