"""From what a user asks for to the definition of an index."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError, UnsupportedError
from lakesieve.format import IndexDefinition, KeyColumn
from lakesieve.sieve import MAX_COLUMNS, Budget
from lakesieve.store import CompactionPolicy
from lakesieve.tables.names import parse_path

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lakesieve.tables import Column, TableReader, TableVersion

_LONGEST_NAME = 128


def column_names(columns: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names of a list of columns; one string is the name of one column.

    Every function that takes a list of columns calls this: a string is iterable, too, and its
    characters are no columns.
    """
    return (columns,) if isinstance(columns, str) else tuple(columns)


def key_columns(
    table: TableReader, version: TableVersion, columns: str | Sequence[str]
) -> tuple[Column, ...]:
    """Find the columns of a table by name.

    Fields of structs are named with dots, a name with a dot in it in back quotes.
    """
    names = column_names(columns)
    if not 1 <= len(names) <= MAX_COLUMNS:
        raise InvalidInputError(
            f"{list(names)!r} is no list of one to {MAX_COLUMNS} columns.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint='Give the columns by name, such as ["customer", "day"]; several indexes of one '
            "table work together.",
        )
    known = table.columns(version)
    keys = tuple(_key_column(table, known, name) for name in names)
    fields = [column.field_id for column in keys]
    twice = [name for name, field in zip(names, fields, strict=True) if fields.count(field) > 1]
    if twice:
        raise InvalidInputError(
            f"A key column was given twice: {', '.join(twice)}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Name each column once.",
        )
    return keys


def _key_column(
    table: TableReader, known: Mapping[tuple[str, ...], Column], wanted_name: str
) -> Column:
    by_name = {".".join(path): column for path, column in known.items()}
    column = by_name.get(wanted_name)
    if column is None and "`" in wanted_name:
        wanted_name = ".".join(parse_path(wanted_name))
        column = by_name.get(wanted_name)
    if column is None:
        folded = [c for n, c in by_name.items() if n.lower() == wanted_name.lower()]
        column = folded[0] if len(folded) == 1 else None
    if column is None:
        for name, outer in by_name.items():
            if outer.type in {"list", "map"} and wanted_name.startswith(f"{name}."):
                raise _not_indexable(f"The column {wanted_name} inside {name}", outer)
        raise NotFoundError(
            f"{table.name} has no column {wanted_name}.",
            kind=ErrorKind.COLUMN_NOT_FOUND,
            hint=f"It has: {', '.join(sorted(by_name))}.",
        )
    if column.kind == "other":
        raise _not_indexable(f"The column {wanted_name}", column)
    return column


def _not_indexable(what: str, column: Column) -> UnsupportedError:
    if column.refusal:
        return UnsupportedError(
            f"{what} of type {column.type} cannot be indexed.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint=column.refusal,
        )
    return UnsupportedError(
        f"{what} of type {column.type} cannot be indexed.",
        kind=ErrorKind.UNSUPPORTED_TYPE,
        hint="Booleans, numbers, dates, timestamps, strings, UUIDs and binary columns can, also as "
        "fields of structs; lists, maps, structs and variants cannot.",
    )


def default_name(columns: Sequence[str]) -> str:
    """Return the name of an index that was given none: its columns' names, joined by ``_``.

    Whatever cannot stand in a folder's name, such as blanks and back quotes, becomes ``_``.
    """
    plain = "_".join(column.replace("`", "") for column in columns)
    return re.sub(r"[^A-Za-z0-9_.\-]+", "_", plain).lstrip(".")[:_LONGEST_NAME]


def define(
    table: TableReader,
    columns: Sequence[Column],
    name: str,
    *,
    budget: str | None,
    absent_hits: float,
    compaction: str,
) -> IndexDefinition:
    """Write down what an index is to be."""
    if not 0 < absent_hits <= 1:
        raise InvalidInputError(
            f"absent_hits={absent_hits!r} is no share.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give a number above 0 and up to 1, such as 1/256.",
        )
    CompactionPolicy.parse(compaction)
    keys = tuple(
        KeyColumn(
            field_id=column.field_id,
            name=".".join(column.path),
            type=column.type,
            key_kind=column.kind,
            scale=column.scale,
        )
        for column in columns
    )
    return IndexDefinition(
        name=name,
        index_uuid=str(uuid.uuid4()),
        table_format=table.format,
        table_uuid=table.uuid,
        table_location=table.location,
        columns=keys,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        budget="" if budget is None else str(Budget.parse(budget)),
        absent_hits=float(absent_hits),
        compaction=compaction,
    )


def type_by_name(
    definition: IndexDefinition, key: KeyColumn, types: Mapping[str, str]
) -> str | None:
    """Return the type of the column that has an indexed column's name now, if it may be the same.

    Iceberg's columns have ids of their own: there, another column took the name.
    """
    return None if definition.table_format == "iceberg" else types.get(key.name)


def _change(key: KeyColumn, now: str | None) -> str:
    """Return what became of an indexed column, in words."""
    if now is None:
        return "is gone"
    if now == key.type:
        return "was replaced by another column of the same name"
    return f"is of type {now} now"


def indexed_columns(
    definition: IndexDefinition, table: TableReader, version: TableVersion, *, strict: bool
) -> tuple[Column, ...] | None:
    """Return the key columns of an index as a version of a table has them, by field id.

    Returns:
        ``None`` where one is missing or of another type.
    """
    columns = table.columns(version)
    by_id: dict[int, Column] = {c.field_id: c for c in columns.values()}
    types = {".".join(path): column.type for path, column in columns.items()}
    found = []
    for key in definition.columns:
        column = by_id.get(key.field_id)
        if column is None or (column.kind, column.scale) != (key.key_kind, key.scale):
            if not strict:
                return None
            now = column.type if column else type_by_name(definition, key, types)
            raise UnsupportedError(
                f"{table.name}: the column {key.name}, indexed as {key.type}, {_change(key, now)}.",
                kind=ErrorKind.UNSUPPORTED_TYPE,
                hint="Drop the index, and create another one on a column that is there.",
            )
        found.append(column)
    return tuple(found)
