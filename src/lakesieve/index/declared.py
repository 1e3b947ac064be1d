"""Read declarations: a file that says which indexes tables shall have, and how to maintain them."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError
from lakesieve.index.definition import default_name
from lakesieve.sieve import ABSENT_HITS, Budget
from lakesieve.store import COMPACTION, RETAIN_COMMITS, SAFETY_AGE, CompactionPolicy

if TYPE_CHECKING:
    from collections.abc import Mapping

_TOOL = ("tool", "lakesieve")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredIndex:
    """One index as declared in a file.

    Args:
        budget: As for :func:`lakesieve.create_index`, like all fields; empty for exact blocks.
        absent_hits: Share of look-ups of absent values that may find a file.
        compaction: The highest number of deltas, or ``auto``.
        rows_per_block: Rows of a block, 0 for whole data files, or ``auto``.
    """

    columns: tuple[str, ...]
    name: str
    budget: str = ""
    absent_hits: float = ABSENT_HITS
    compaction: str = COMPACTION
    rows_per_block: int | str = "auto"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTable:
    """One table as declared in a file.

    Args:
        name: Name of the table, as for :func:`lakesieve.create_index`.
        location: Location of the indexes, if they are not in the table's own folder.
        retain_commits: Number of latest commits whose states a vacuum keeps.
        retain_hours: Minimum age of the objects that a vacuum deletes, in hours.
    """

    name: str
    indexes: tuple[DeclaredIndex, ...]
    location: str | None = None
    all_refs: bool = False
    convert_deletes: bool = False
    retain_commits: int = RETAIN_COMMITS
    retain_hours: float = SAFETY_AGE / timedelta(hours=1)


_TYPES: Mapping[str, tuple[type, ...]] = {
    "name": (str,),
    "columns": (list,),
    "indexes": (list,),
    "budget": (str,),
    "absent_hits": (int, float),
    "compaction": (str, int),
    "rows_per_block": (str, int),
    "location": (str,),
    "all_refs": (bool,),
    "convert_deletes": (bool,),
    "retain_commits": (int,),
    "retain_hours": (int, float),
}


def read_declarations(path: str) -> list[DeclaredTable]:
    """Read the declarations in ``lakesieve.toml``, or in ``[tool.lakesieve]`` of other files."""
    try:
        document = tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise NotFoundError(
            f"{path} cannot be read: {error.strerror or error}.",
            kind=ErrorKind.OBJECT_NOT_FOUND,
            hint="Give a file that declares tables: lakesieve maintain lakesieve.toml.",
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _wrong(path, f"it is not TOML: {error}") from error
    for part in _TOOL if _TOOL[0] in document else ():
        document = document.get(part, {})
    unknown = sorted(set(document) - {"tables"})
    if unknown:
        raise _wrong(path, f"{unknown[0]} is not a known setting")
    tables = document.get("tables")
    if not isinstance(tables, dict) or not tables:
        raise _wrong(path, "it declares no tables")
    return [_table(path, name, body) for name, body in tables.items()]


def _table(path: str, name: str, body: Any) -> DeclaredTable:
    where = f'tables."{name}"'
    plain = _checked(path, where, body, DeclaredTable, but=("name",))
    indexes = tuple(
        _index(path, f"{where}.indexes[{at}]", entry)
        for at, entry in enumerate(plain.pop("indexes", []))
    )
    names = [index.name for index in indexes]
    twice = [one for one in names if names.count(one) > 1]
    if twice:
        raise _wrong(path, f"{where} declares the index {twice[0]} twice")
    if plain.get("retain_commits", 1) < 1 or plain.get("retain_hours", 0) < 0:
        raise _wrong(path, f"{where} has retain_commits below 1 or retain_hours below 0")
    return DeclaredTable(name=name, indexes=indexes, **plain)


def _index(path: str, where: str, given: Any) -> DeclaredIndex:
    body = {"columns": given} if isinstance(given, list) else given
    plain = _checked(path, where, body, DeclaredIndex)
    columns = plain.pop("columns", [])
    if not columns or not all(isinstance(column, str) and column for column in columns):
        raise _wrong(path, f"{where} has no list of columns")
    plain["compaction"] = str(plain.get("compaction", COMPACTION))
    try:
        CompactionPolicy.parse(plain["compaction"])
        if plain.get("budget"):
            plain["budget"] = str(Budget.parse(plain["budget"]))
    except InvalidInputError as error:
        raise _wrong(path, f"{where}: {error.message}") from error
    plain.setdefault("name", default_name(columns))
    return DeclaredIndex(columns=tuple(columns), **plain)


def _checked(
    path: str, where: str, body: Any, kind: type, but: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Return the settings of a table or an index, all of them known and of the right type."""
    if not isinstance(body, dict):
        raise _wrong(path, f"{where} is not a TOML table of settings")
    allowed = {field.name for field in fields(kind)} - set(but)
    for name, value in body.items():
        if name not in allowed:
            raise _wrong(
                path,
                f"{where} has no setting {name}; the settings are {', '.join(sorted(allowed))}",
            )
        types = _TYPES[name]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise _wrong(path, f"{where}.{name} is {value!r}")
    return dict(body)


def _wrong(path: str, what: str) -> InvalidInputError:
    return InvalidInputError(
        f"{path} cannot be used: {what}.",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint="docs/maintain.md shows a file with all settings.",
    )
