"""Everything that runs on Spark: the session, the build pipeline, the pruning rule."""

from __future__ import annotations

from lakesieve.spark.api import (
    disable,
    enable,
    find_files,
    last_pruning,
    list_indexes,
    open_index,
)
from lakesieve.spark.create import create_index
from lakesieve.spark.session.local import local_session

__all__ = [
    "create_index",
    "disable",
    "enable",
    "find_files",
    "last_pruning",
    "list_indexes",
    "local_session",
    "open_index",
]
