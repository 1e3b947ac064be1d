"""Silence PySpark's own log of errors, which differs between versions."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def without_traces() -> Iterator[None]:
    """Keep PySpark from logging the stack trace of each statement that it cannot plan.

    Since Spark 4.0, PySpark logs it with a logger of its own class, which PySpark itself must
    create.
    """
    try:
        loggers: Any = import_module("pyspark.logger").PySparkLogger
    except ImportError:
        yield
        return
    logger = loggers.getLogger("SQLQueryContextLogger")
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
