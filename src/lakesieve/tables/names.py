"""How tables are named: by a catalog's identifier, or by their format and path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["EMBEDDED_CATALOG", "FORMATS", "FORMS", "TableName", "formats_named", "parse_name"]

FORMATS = ("iceberg", "delta", "hudi", "parquet")
"""The table formats that are known."""

FORMS = "catalog.database.table, iceberg:PATH, delta:PATH, hudi:PATH or parquet:PATH"
"""How tables are named."""

EMBEDDED_CATALOG = "lake"
"""Name of the catalog of Iceberg tables in a folder that ``ls.local_session`` sets up."""

_PART = re.compile(r"`(?P<quoted>(?:[^`]|``)+)`|(?P<plain>[^`.\s]+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableName:
    """What a name means, before anything is looked up.

    Args:
        text: The name as it was given.
        format: The format, if it names one.
        path: The path behind the format; empty for an identifier.
    """

    text: str
    format: str | None = None
    path: str = ""

    def identifier(self) -> tuple[str, ...]:
        """The parts of an identifier, back quotes taken off.

        Raises:
            InvalidInputError: It is none.
        """
        parts = []
        at = 0
        while True:
            found = _PART.match(self.text, at)
            if found is None:
                break
            quoted = found["quoted"]
            parts.append(found["plain"] if quoted is None else quoted.replace("``", "`"))
            at = found.end()
            if at == len(self.text):
                return tuple(parts)
            if self.text[at] != ".":
                break
            at += 1
        raise InvalidInputError(
            f"{self.text!r} does not name a table.",
            kind=ErrorKind.NOT_A_TABLE,
            hint=f"Name it {FORMS}.",
        )


def parse_name(name: str) -> TableName:
    """Tell a path from an identifier.

    Args:
        name: ``catalog.database.table``; ``iceberg:PATH``, ``delta:PATH``, ``hudi:PATH`` or
            ``parquet:PATH``; or a bare path of an Iceberg table.

    Raises:
        InvalidInputError: It is empty.
    """
    text = name.strip()
    if not text:
        raise InvalidInputError(
            "The table's name is empty.", kind=ErrorKind.NOT_A_TABLE, hint=f"Name it {FORMS}."
        )
    scheme, _, path = text.partition(":")
    if scheme in FORMATS and path:
        return TableName(text=text, format=scheme, path=path)
    if text.startswith("/") or ":/" in text:
        return TableName(text=text, format="iceberg", path=text)
    return TableName(text=text)


def formats_named(names: Iterable[str]) -> list[str]:
    """The formats that the names of tables say, such as ``delta`` of ``delta:/data/events``.

    Args:
        names: Names of tables; any other text says no format.
    """
    schemes = (name.strip().partition(":")[0] for name in names if ":" in name)
    return list(dict.fromkeys(scheme for scheme in schemes if scheme in FORMATS))
