"""A process whose Spark says that nobody tested its version, and so gets the newest jar.

Run as ``python -m tests.spark.untested FOLDER``. Prints as JSON what a query found, the reasons
that ``last_pruning`` gives, what was logged, and the error of an index that was to be made.
"""

from __future__ import annotations

import json
import logging
import sys
from typing import Any

from tests.spark.settings import SETTINGS

import lakesieve as ls
from lakesieve.errors import UnsupportedError

__all__ = ["OtherVersion"]


class OtherVersion:
    """A session that says that its Spark has another version."""

    def __init__(self, spark: Any, version: str) -> None:
        self.version = version
        self._spark = spark

    def __getattr__(self, name: str) -> Any:
        return getattr(self._spark, name)


class _Heard(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def main(folder: str) -> None:
    """Switch skipping on, query, and try to make an index."""
    heard = _Heard()
    logging.getLogger("lakesieve").addHandler(heard)
    spark = ls.local_session(f"{folder}/warehouse", formats=["parquet"], conf=SETTINGS)
    unknown: Any = OtherVersion(spark, "9.9.0")
    spark.range(0, 400, 1, 4).write.parquet(f"{folder}/t")
    ls.enable(unknown)
    rows = spark.read.parquet(f"{folder}/t").where("id = 250").collect()
    reasons = [str(reason) for scan in ls.last_pruning(unknown) for reason in scan.reasons]
    ls.disable(unknown)
    try:
        ls.create_index(f"parquet:{folder}/t", ["id"], spark=unknown)
        error = ""
    except UnsupportedError as refused:
        error = str(refused)
    found = {
        "rows": [row["id"] for row in rows],
        "reasons": reasons,
        "logged": heard.messages,
        "error": error,
    }
    sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
