"""Check what a user asks for, and make the definition of an index from it."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError, UnsupportedError
from lakesieve.format import ENTRIES_KIND, WORDS_KIND, IndexDefinition, KeyColumn
from lakesieve.index.expressions import expression_columns
from lakesieve.sieve import MAX_COLUMNS, Budget
from lakesieve.store import CompactionPolicy
from lakesieve.tables.names import parse_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from lakesieve.tables import Column, TableReader, TableVersion

_LONGEST_NAME = 128
_QUOTED = re.compile(r"`[^`]*`")
# characters that are in expressions and, without backquotes, in no usual name of a column
_OF_EXPRESSIONS = re.compile(r"[()+*/%|&^~<>=!\[\]:,'\"-]")


def column_names(columns: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names in a list of columns, where one string is the name of one column.

    Every function that takes a list of columns calls this: a string is iterable as well, but its
    characters are not columns.
    """
    return (columns,) if isinstance(columns, str) else tuple(columns)


def key_columns(
    table: TableReader,
    version: TableVersion,
    columns: str | Sequence[str],
    *,
    describe: Callable[[str], tuple[Column, ...]] | None = None,
) -> tuple[Column, ...]:
    """Find the columns of a table by name.

    Fields of structs are named with dots. A name that contains a dot is written in backquotes.

    Args:
        table: The table.
        version: The version whose columns are found.
        columns: Their names.
        describe: Returns the key columns of an expression. Without it, expressions are refused.
    """
    names = column_names(columns)
    known = table.columns(version)
    keys: list[Column] = []
    for name in names:
        if not is_expression(known, name):
            keys.append(_key_column(table, known, name))
        elif describe is not None:
            keys += describe(name.strip())
        else:
            raise UnsupportedError(
                f"{name} is an expression, and not a column of {table.name}.",
                kind=ErrorKind.UNSUPPORTED_TYPE,
                hint="An expression can only be a key of an index; name columns here.",
            )
    if not 1 <= len(keys) <= MAX_COLUMNS:
        raise InvalidInputError(
            f"{list(names)!r} is not a list of one to {MAX_COLUMNS} columns.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint='Give the columns by name, such as ["customer", "day"]; several indexes of one '
            "table work together.",
        )
    fields = [column.field_id for column in keys]
    twice = [".".join(key.path) for key in keys if fields.count(key.field_id) > 1]
    if twice:
        raise InvalidInputError(
            f"A key column is named twice: {', '.join(twice)}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Name each key column once.",
        )
    _check_together(keys)
    return tuple(keys)


def _check_together(columns: Sequence[Column]) -> None:
    """Check that some keys can be together in one index.

    Raises:
        UnsupportedError: They cannot.
    """
    expressions = [column.expression for column in columns]
    many = list(dict.fromkeys(e for e in expressions if e is not None and e.has_many))
    if not many or expressions == [many[0]] * len(expressions):
        return
    first = many[0]
    why = ""
    if len(many) > 1:
        why = f"{first.sql} and {many[1].sql} cannot be keys of one index"
    elif first.kind == ENTRIES_KIND and expressions[-1] is not first:
        why = f"{first.sql} can only be the last key of an index"
    if why:
        raise UnsupportedError(
            f"{why}.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Create two indexes; several indexes of one table work together.",
        )


def is_expression(known: Mapping[tuple[str, ...], Column], text: str) -> bool:
    """Return whether a key is an expression: no column has this name, and it is none."""
    if _OF_EXPRESSIONS.search(_QUOTED.sub("", text)) is None:
        return False
    return _named(known, text) is None


def _named(known: Mapping[tuple[str, ...], Column], wanted_name: str) -> Column | None:
    """Return the column with a name, in which upper and lower case matter only if they must."""
    by_name = {".".join(path): column for path, column in known.items()}
    column = by_name.get(wanted_name)
    if column is None:
        folded = [c for n, c in by_name.items() if n.lower() == wanted_name.lower()]
        column = folded[0] if len(folded) == 1 else None
    return column


def _key_column(
    table: TableReader, known: Mapping[tuple[str, ...], Column], wanted_name: str
) -> Column:
    by_name = {".".join(path): column for path, column in known.items()}
    column = by_name.get(wanted_name)
    if column is None and "`" in wanted_name:
        wanted_name = ".".join(parse_path(wanted_name))
    column = column or _named(known, wanted_name)
    if column is None:
        for name, outer in by_name.items():
            if outer.type in {"list", "map"} and wanted_name.startswith(f"{name}."):
                raise _not_indexable(f"The column {wanted_name} is inside {name}. A column", outer)
        raise NotFoundError(
            f"{table.name} has no column {wanted_name}.",
            kind=ErrorKind.COLUMN_NOT_FOUND,
            hint=f"Its columns are: {', '.join(sorted(by_name))}.",
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
        hint="Columns and struct fields of booleans, numbers, dates, timestamps, strings, UUIDs "
        "and bytes can be indexed. Structs and variants cannot be indexed. The elements of a list "
        "can be indexed with elements(tags), if tags is its name, and the entries of a map with "
        "entries(attributes).",
    )


def default_name(columns: Sequence[str]) -> str:
    """Return the default name of an index: the names of its columns, joined by ``_``.

    Characters that a folder's name cannot have, such as blanks and backquotes, become ``_``.
    """
    return "_".join(map(_plain_name, columns)).lstrip(".")[:_LONGEST_NAME]


def _plain_name(key: str) -> str:
    name = re.sub(r"[^A-Za-z0-9_.\-]+", "_", key.replace("`", ""))
    if _OF_EXPRESSIONS.search(key) and "`" not in key:
        # the parentheses of a call leave nothing behind
        name = name.strip("_") or name
    return name


def check_budgets(columns: Sequence[Column]) -> None:
    """Check that an index on some columns may have a budget.

    Raises:
        UnsupportedError: The keys are words.
    """
    expressions = [column.expression for column in columns if column.expression is not None]
    words = [expression.sql for expression in expressions if expression.kind == WORDS_KIND]
    if words:
        raise UnsupportedError(
            f"An index on {words[0]} cannot have a budget.",
            kind=ErrorKind.UNSUPPORTED_TYPE,
            hint="Its keys are kept whole, because they are searched for parts of words. Leave "
            "out the budget.",
        )


def define(
    table: TableReader,
    columns: Sequence[Column],
    name: str,
    *,
    budget: str | None,
    absent_hits: float,
    compaction: str,
    rows_per_block: int = 0,
) -> IndexDefinition:
    """Make the definition of an index. ``rows_per_block`` is 0 for whole data files."""
    if not 0 < absent_hits <= 1:
        raise InvalidInputError(
            f"absent_hits={absent_hits!r} is not a share.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give a number above 0 and up to 1, such as 1/256.",
        )
    CompactionPolicy.parse(compaction)
    if budget is not None:
        check_budgets(columns)
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
        rows_per_block=rows_per_block,
        expressions=tuple(
            dict.fromkeys(each.expression for each in columns if each.expression is not None)
        ),
    )


def type_by_name(
    definition: IndexDefinition, key: KeyColumn, types: Mapping[str, str]
) -> str | None:
    """Return the type of the column that now has an indexed column's name, if it may be the same.

    Iceberg's columns have ids. There, a column with another id has taken over the name.
    """
    return None if definition.table_format == "iceberg" else types.get(key.name)


def _change(key: KeyColumn, now: str | None) -> str:
    """Return in words what happened to an indexed column."""
    if now is None:
        return "was dropped"
    if now == key.type:
        return "was replaced by another column of the same name"
    return f"now has the type {now}"


def indexed_columns(
    definition: IndexDefinition, table: TableReader, version: TableVersion, *, strict: bool
) -> tuple[Column, ...] | None:
    """Return an index's key columns as a version of the table has them, found by field id.

    Returns:
        The columns, or ``None`` if one is missing or has another type.
    """
    columns = table.columns(version)
    by_id: dict[int, Column] = {c.field_id: c for c in columns.values()}
    types = {".".join(path): column.type for path, column in columns.items()}
    found_columns: list[Column] = []
    for key in definition.keys:
        if key.expression is not None:
            try:
                found_columns += expression_columns(key, by_id, index=definition.name)
            except UnsupportedError:
                if strict:
                    raise
                return None
            continue
        (indexed,) = key.columns
        column = by_id.get(indexed.field_id)
        if column is None or (column.kind, column.scale) != (indexed.key_kind, indexed.scale):
            if not strict:
                return None
            now = column.type if column else type_by_name(definition, indexed, types)
            raise UnsupportedError(
                f"{table.name}: the column {key.name}, indexed as {key.type}, "
                f"{_change(indexed, now)}.",
                kind=ErrorKind.UNSUPPORTED_TYPE,
                hint="Drop the index, and create an index on a column that exists.",
            )
        found_columns.append(column)
    return tuple(found_columns)
