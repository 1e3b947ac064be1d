"""Text that is safe on a terminal and in a log, and what renders results as text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Protocol
from urllib.parse import unquote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

# C0 and C1 control characters but tab and line feed, marks that reverse the direction of text,
# separators that some programs take for line ends, and halves of surrogate pairs
_UNSAFE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_UNSAFE_IN_LINE = re.compile(rf"[\t\n]|{_UNSAFE.pattern}")
_SECRET = re.compile(
    r"secret|token|passw|credential|authorization|connection.string"
    r"|(^|[._-])(key|auth|sas|signature)([._-]|$)",
    re.IGNORECASE,
)
# user and password in an address; SQLAlchemy takes a password with a slash, too
_USER = re.compile(r"(?<=://)[^@\s]+@")
_QUERY = re.compile(r"[?&;]([^=&;\s]+)=([^&;\s]+)")
# shorter values would be found in other words
_SHORTEST_SECRET = 6


def printable(text: str) -> str:
    r"""Replace characters that a terminal would obey by their escapes, such as ``\x1b``.

    Names of tables, columns and files, and messages of other programs come from storage and
    from callers. Line feeds and tabs stay.
    """
    return _UNSAFE.sub(_escape, text)


def printable_line(text: str) -> str:
    r"""Replace line feeds and tabs, too, so that the text stays one line of a log."""
    return _UNSAFE_IN_LINE.sub(_escape, text)


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    named = {9: "\\t", 10: "\\n", 13: "\\r"}.get(code)
    return named or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}")


def printable_json(text: str) -> str:
    """Write the same characters of a JSON text as JSON's own escapes: its meaning stays."""
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


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


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """Return a text without some secrets, and without the users of its addresses."""
    text = _USER.sub("***@", text)
    for secret in sorted(secrets, key=len, reverse=True):
        if len(secret) >= _SHORTEST_SECRET:
            text = text.replace(secret, "***")
    return text


class Renderer(Protocol):
    """Renders the results of lakesieve's functions, as plain text and as HTML."""

    def plain(self, result: object) -> str:
        """Return a result as text for a person."""

    def html(self, result: object) -> str:
        """Return a result as a notebook shows it."""


_LOADERS: list[Callable[[], Renderer]] = []


def render_with(load: Callable[[], Renderer]) -> None:
    """Have results rendered by what ``load`` returns; it is called when a result is shown."""
    _LOADERS[:] = [load]


def renderer() -> Renderer:
    """Return what renders results; the package has registered it."""
    return _LOADERS[0]()
