"""Parse names of tables: identifiers in a catalog, or a format and a path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.tables.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Iterable

FORMS = "catalog.database.table, iceberg:PATH, delta:PATH, hudi:PATH or parquet:PATH"
"""The forms of a table's name, for messages."""

EMBEDDED_CATALOG = "lake"
"""Name of the catalog that ``ls.local_session`` sets up for the Iceberg tables in a folder."""

_MARKS = {"iceberg": "metadata", "delta": "_delta_log", "hudi": ".hoodie"}
"""The folder that each format keeps its metadata in."""

_PLAIN = re.compile(r"[^`.\s/:]+")
_PART = re.compile(r"`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^`.\s]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableName:
    """A parsed name of a table. Nothing has been looked up yet."""

    text: str
    format: str | None = None  # the format, if the name has one
    path: str = ""  # the path after the format; empty for an identifier

    def identifier(self) -> tuple[str, ...]:
        """Return the parts of an identifier, without backquotes."""
        parts = _parts(self.text)
        if parts is not None:
            return parts
        raise InvalidInputError(
            f"{self.text!r} does not name a table.",
            kind=ErrorKind.NOT_A_TABLE,
            hint=f"Name a table as {FORMS}.",
        )


def parse_path(name: str) -> tuple[str, ...]:
    """Return the names from a top-level column down to a field, such as ``a.`d.e```."""
    parts = _parts(name)
    if parts is None:
        raise InvalidInputError(
            f"{name!r} does not name a column.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Put a name with a dot or a blank in it in backquotes, such as a.`d.e`.",
        )
    return parts


def _parts(text: str) -> tuple[str, ...] | None:
    """Return the parts between the dots, without backquotes, or ``None`` if the text is invalid."""
    parts = []
    at = 0
    while True:
        names = _PART.match(text, at)
        if names is None:
            return None
        quoted = names["quoted"]
        parts.append(names["plain"] if quoted is None else quoted.replace("``", "`"))
        at = names.end()
        if at == len(text):
            return tuple(parts)
        if text[at] != ".":
            return None
        at += 1


def quoted_name(parts: Iterable[str]) -> str:
    """Return an identifier, with back quotes around the parts that need them."""
    return ".".join(
        part if _PLAIN.fullmatch(part) else "`{}`".format(part.replace("`", "``")) for part in parts
    )


def parse_name(name: str) -> TableName:
    """Parse a table's name as a path or as an identifier."""
    text = name.strip()
    if not text:
        raise InvalidInputError(
            "The table's name is empty.",
            kind=ErrorKind.NOT_A_TABLE,
            hint=f"Name a table as {FORMS}.",
        )
    scheme, _, path = text.partition(":")
    if scheme in FORMATS and path:
        return TableName(text=text, format=scheme, path=path)
    if text.startswith("/") or ":/" in text:
        return TableName(text=text, format="iceberg", path=text)
    if ":" in text and "`" not in text:
        raise InvalidInputError(
            f"{scheme!r} is not a table format.",
            kind=ErrorKind.NOT_A_TABLE,
            hint=f"Name a table {FORMS}.",
        )
    if "/" in text and "`" not in text:
        raise InvalidInputError(
            f"{text!r} is a path without its format.",
            kind=ErrorKind.NOT_A_TABLE,
            hint=f"Did you mean {format_of(text)}:{text}?",
        )
    return TableName(text=text)


def format_of(folder: str) -> str:
    """Return the format of a table in a local folder, as far as its folders tell."""
    for name, mark in _MARKS.items():
        if Path(folder, mark).is_dir():
            return name
    return "parquet" if any(Path(folder).glob("*.parquet")) else "iceberg"


def formats_named(names: Iterable[str]) -> list[str]:
    """Return the formats in the names of tables, such as ``delta`` from ``delta:/data/events``."""
    schemes = (name.strip().partition(":")[0] for name in names if ":" in name)
    return list(dict.fromkeys(scheme for scheme in schemes if scheme in FORMATS))
