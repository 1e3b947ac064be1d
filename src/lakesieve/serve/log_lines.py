"""Formatters of the server's log, the one place where its text leaves the process.

They write control characters as escapes, and leave concealed values out.
"""

from __future__ import annotations

import json
import logging
import traceback
from datetime import UTC, datetime
from typing import Any

from uvicorn.logging import DefaultFormatter

from lakesieve.printable import printable_line
from lakesieve.serve.logs import concealed

_CAUSES = 5
_CALLS = 8


class _Lines(logging.Formatter):
    def formatException(self, ei: Any) -> str:  # noqa: N802 - the name is logging's
        """Return where an exception was raised, with the first line of its message."""
        return _stack(ei[1])


def _stack(error: BaseException | None, depth: int = _CAUSES) -> str:
    """Return an exception and its causes on one line each, the innermost calls last."""
    if error is None:
        return ""
    said = str(error).partition("\n")[0]
    calls = traceback.extract_tb(error.__traceback__)[-_CALLS:]
    places = " > ".join(f"{call.filename.rpartition('/')[2]}:{call.lineno}" for call in calls)
    line = printable_line(concealed(f"{type(error).__name__}: {said} ({places})"))
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{line}\n  after {_stack(cause, depth - 1)}" if cause and depth else line


class JsonLines(_Lines):
    """Writes each record as a JSON object, with the ``fields`` of the record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage().rstrip(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        shown = {name: concealed(v) if isinstance(v, str) else v for name, v in line.items()}
        # what is not ASCII becomes JSON's own escapes
        return json.dumps(shown, default=str)


class TextLines(DefaultFormatter, _Lines):
    """Writes each record as a line, in colours on a terminal."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record, and lines for its exception."""
        # another handler may have kept the text of the exception, with its secrets
        record.exc_text = None
        return super().format(record)

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - as above
        """Return the line of a record."""
        record.message = printable_line(concealed(record.message.rstrip()))
        return super().formatMessage(record)
