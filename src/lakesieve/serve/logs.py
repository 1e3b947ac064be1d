"""Settings of the server's log, and the secrets that it leaves out."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

FORMATS = ("text", "json")
"""Forms of the lines: for people, or for programs."""

_SECRET = re.compile(
    r"secret|token|passw|credential|authorization|connection.string|(^|[._-])(key|auth|sas|signature)([._-]|$)",
    re.IGNORECASE,
)
# user and password in an address; SQLAlchemy takes a password with a slash, too
_USER = re.compile(r"(?<=://)[^@\s]+@")
_QUERY = re.compile(r"[?&;]([^=&;\s]+)=([^&;\s]+)")
_SHORTEST = 6

_concealed: set[str] = set()


def secrets_in(settings: Mapping[str, object]) -> list[str]:
    """Return the values in some settings that nobody may see."""
    found = []
    for name, given in settings.items():
        value = str(given)
        if _SECRET.search(name):
            found.append(value)
        for user in _USER.findall(value):
            password = user[:-1].partition(":")[2]
            found += [password, unquote(password)]
        for key, text in _QUERY.findall(value):
            if _SECRET.search(key):
                found += [text, unquote(text)]
    return found


def conceal(values: Iterable[str]) -> None:
    """Leave values out of every line of this process's log from now on."""
    _concealed.update(value for value in values if len(value) >= _SHORTEST)


def concealed(text: str) -> str:
    """Return a text without concealed values."""
    text = _USER.sub("***@", text)
    for value in sorted(_concealed, key=len, reverse=True):
        text = text.replace(value, "***")
    return text


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
