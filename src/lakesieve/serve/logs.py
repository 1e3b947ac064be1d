"""The log of the server: lines for people, or JSON for programs."""

from __future__ import annotations

import json
import logging
from datetime import UTC, datetime
from typing import Any

__all__ = ["FORMATS", "JsonLines", "log_config"]

FORMATS = ("text", "json")
"""How lines are written."""


class JsonLines(logging.Formatter):
    """Each line an object; of a plan with its figures."""

    def format(self, record: logging.LogRecord) -> str:
        """The line of a record.

        Args:
            record: The record; what it has as ``fields`` is part of the object.
        """
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def log_config(theirs: dict[str, Any], kind: str) -> dict[str, Any]:
    """The configuration of the log.

    Args:
        theirs: That of uvicorn.
        kind: One of :data:`FORMATS`.
    """
    own = {"lakesieve.serve": {"handlers": ["default"], "level": "INFO", "propagate": False}}
    made = {**theirs, "loggers": {**theirs["loggers"], **own}}
    if kind == "json":
        made["formatters"] = {name: {"()": JsonLines} for name in theirs["formatters"]}
    return made
