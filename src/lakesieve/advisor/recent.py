"""Find the latest queries of a table: what they read, and what its indexes leave of it now."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from lakesieve.advisor.described_keys import DescribedKeys
from lakesieve.advisor.event_log import read_event_logs
from lakesieve.advisor.table_scans import known_table
from lakesieve.index.expressions import expression_columns
from lakesieve.index.find import matching_files
from lakesieve.predicate.expression import (
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Not,
    NullSafeEqual,
    OnElements,
    OnExpression,
    OnText,
    Or,
    StartsWith,
    Unknown,
)
from lakesieve.predicate.protocol import column_of_parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lakesieve.index import OpenedIndex
    from lakesieve.index.access import TableAccess
    from lakesieve.predicate import Expr
    from lakesieve.tables import Column

_COUNT = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentQuery:
    """One query."""

    text: str
    shape: str  # the condition without the values that it compares with
    read: int | None  # data files that the query read, if recorded
    seconds: float | None  # reading time
    left_by_format: int  # data files of the current version that the format's own statistics leave
    left: int  # data files of these that the indexes leave
    indexes: tuple[str, ...]  # indexes that were used
    reasons: tuple[str, ...]  # codes of what was done, and why no more was done


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentQueries:
    """The latest queries, the newest first."""

    queries: tuple[RecentQuery, ...]
    problems: tuple[str, ...]  # parts of the logs that could not be read, and why


def recent_queries(
    access: TableAccess,
    table: str,
    event_logs: Iterable[str],
    *,
    location: str | None = None,
) -> RecentQueries:
    """Read the latest queries of a table from event logs, and plan them again."""
    opened = access.open_table(table)
    version = opened.version()
    live = opened.live_files(version).column("path")
    indexes, _ = access.indexes(opened, location)
    keys = DescribedKeys(partial(_indexed_key, indexes, opened.columns(version)))
    read = read_event_logs(event_logs, [known_table(opened, keys)], access.options(None))
    queries = []
    for use in reversed([use for use in read.uses if use.text][-_COUNT:]):
        matches = matching_files(
            opened,
            version,
            use.condition,
            indexes,
            live=live,
            strict=False,
            timezone=access.timezone(),
        )
        queries.append(
            RecentQuery(
                text=use.text,
                shape=shape_of(use.condition),
                read=use.files,
                seconds=use.seconds,
                left_by_format=int(matches.by_format.sum()),
                left=int(matches.keep.sum()),
                indexes=matches.planned.plan.used,
                reasons=tuple(dict.fromkeys(str(reason.code) for reason in matches.reasons)),
            )
        )
    return RecentQueries(queries=tuple(queries), problems=read.problems)


def _indexed_key(
    indexes: Sequence[OpenedIndex], columns: Mapping[tuple[str, ...], Column], sql: str
) -> tuple[Column, ...]:
    """Return the key columns of an existing index on a key that is no column."""
    # without Spark, other keys cannot be described
    by_id = {column.field_id: column for column in columns.values()}
    keys = ((index.definition.name, key) for index in indexes for key in index.definition.keys)
    name, key = next((name, key) for name, key in keys if key.name == sql and key.expression)
    return expression_columns(key, by_id, index=name)


def shape_of(condition: Expr) -> str:
    """Return the columns and the operators of a condition, without values."""
    match condition:
        case And() | Or():
            parts = list(dict.fromkeys(filter(None, map(shape_of, condition.args))))
            joined = (" AND " if isinstance(condition, And) else " OR ").join(parts)
            return f"({joined})" if isinstance(condition, Or) and len(parts) > 1 else joined
        case Not(arg=IsNull()):
            return ""
        case Not():
            return f"NOT ({shape_of(condition.arg)})"
        case Compare():
            return f"{'.'.join(condition.column)} {condition.op} ?"
        case In():
            return f"{'.'.join(condition.column)} IN ({len(condition.values)} values)"
        case IsNull():
            return f"{'.'.join(condition.column)} IS NULL"
        case NullSafeEqual():
            return f"{'.'.join(condition.column)} <=> ?"
        case StartsWith():
            return f"{'.'.join(condition.column)} LIKE ?"
        case OnText(otherwise=Unknown()):
            return f"{'.'.join(condition.column)} LIKE ?"
        case OnText():
            return shape_of(condition.otherwise)
        case OnElements():
            _, source = column_of_parts(condition.tree)
            return f"exists({'.'.join(source)}, {shape_of(condition.condition)})"
        case OnExpression():
            _, source = column_of_parts(condition.tree)
            return shape_of(replace(condition.condition, column=(f"{'.'.join(source)}[?]",)))
        case Constant():
            return str(condition.value)
        case _:
            return "..."
