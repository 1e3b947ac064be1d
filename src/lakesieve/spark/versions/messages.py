"""PySpark's own log of errors, which differs between its versions."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def without_traces() -> Iterator[None]:
    """Keep PySpark from writing the trace of each statement that it cannot plan.

    Since 4.0 it does so by a logger of a class of its own, which must be the one to make it.
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
