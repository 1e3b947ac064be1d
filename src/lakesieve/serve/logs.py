"""Settings of the server's log, and the secrets that it leaves out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.printable import without_secrets

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMATS = ("text", "json")
"""Forms of the lines: for people, or for programs."""

_concealed: set[str] = set()


def conceal(values: Iterable[str]) -> None:
    """Leave values out of every line of this process's log from now on."""
    _concealed.update(values)


def concealed(text: str) -> str:
    """Return a text without concealed values."""
    return without_secrets(text, _concealed)


def log_config(theirs: dict[str, Any], kind: str) -> dict[str, Any]:
    """Return the configuration of the log, made of uvicorn's."""
    own = {"lakesieve.serve": {"handlers": ["default"], "level": "INFO", "propagate": False}}
    # libraries warn, too
    root = {"handlers": ["default"], "level": "WARNING"}
    made = {**theirs, "loggers": {**theirs["loggers"], **own}, "root": root}
    # by name: without uvicorn it cannot be loaded
    lines = "JsonLines" if kind == "json" else "TextLines"
    formatter = {"()": f"lakesieve.serve.log_lines.{lines}"}
    if kind == "text":
        formatter["fmt"] = theirs["formatters"]["default"]["fmt"]
    made["formatters"] = dict.fromkeys(theirs["formatters"], formatter)
    return made
