"""A parsed SQL statement about indexes, as ``IndexStatement.java`` sends it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.tables.formats import FORMATS
from lakesieve.tables.names import TableName

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_TRUTH = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexStatement:
    """A statement about indexes.

    Args:
        action: ``create``, ``show``, ``describe``, ``refresh``, ``compact`` or ``drop``.
        index: The name of the index, empty for all of the table.
        table: The table, as the functions of the package take it.
        keys: The columns, or one expression, of a new index.
        location: A further root of indexes, if the statement names one.
        options: The other options, as arguments of the function that does the work.
        lenient: True for ``IF EXISTS`` and ``IF NOT EXISTS``.
    """

    action: str
    index: str
    table: str
    keys: tuple[str, ...]
    location: str | None
    options: Mapping[str, Any]
    lenient: bool

    @classmethod
    def parse(cls, text: str) -> IndexStatement:
        """Parse the JSON text of a statement.

        Raises:
            InvalidInputError: An option is unknown or has a wrong value.
        """
        fields = json.loads(text)
        action = fields["action"]
        options = _options(action, fields["options"])
        return cls(
            action=action,
            index=fields["index"] or "",
            table=_table(fields["table"]),
            keys=tuple(map(_key, fields["keys"])),
            location=options.pop("location", None),
            options=options,
            lenient=fields["lenient"],
        )


def _table(written: str) -> str:
    """Return a table's name. Spark writes a path as ``delta.`/path```."""
    parts = TableName(text=written).identifier()
    is_path = len(parts) == 2 and parts[0].lower() in FORMATS and "/" in parts[1]
    return f"{parts[0].lower()}:{parts[1]}" if is_path else written


def _key(written: str) -> str:
    """Return a key. An expression may stand in backquotes, as Spark's own grammar requires."""
    is_quoted = written.startswith("`") and written.endswith("`") and written.count("`") == 2
    return written[1:-1] if is_quoted else written


def _truth(text: str) -> bool:
    return _TRUTH[text.lower()]


def _rows_per_block(text: str) -> int | str | None:
    if text.lower() in {"auto", "none"}:
        return None if text.lower() == "none" else "auto"
    return int(text)


_ACTIONS: dict[str, dict[str, Callable[[str], Any]]] = {
    "create": {
        "location": str,
        "budget": str,
        "absent_hits": float,
        "compaction": str,
        "rows_per_block": _rows_per_block,
        "replace": _truth,
    },
    "show": {"location": str},
    "describe": {"location": str},
    "refresh": {"location": str, "all_refs": _truth, "dry_run": _truth},
    "compact": {"location": str, "dry_run": _truth},
    "drop": {"location": str, "force": _truth},
}


def _options(action: str, given: Mapping[str, str]) -> dict[str, Any]:
    known = _ACTIONS[action]
    options: dict[str, Any] = {}
    for name, text in given.items():
        if name not in known:
            raise InvalidInputError(
                f"{name} is not an option of this statement.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint=f"Its options are: {', '.join(known)}.",
            )
        try:
            options[name] = known[name](text)
        except (KeyError, ValueError):
            raise InvalidInputError(
                f"{text!r} is not a value of the option {name}.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="The documentation of CREATE INDEX lists the values of each option.",
            ) from None
    return options
