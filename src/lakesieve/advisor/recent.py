"""The latest queries of a table: what they read, and what its indexes leave of it now."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.advisor.event_log import read_event_logs
from lakesieve.advisor.plans import known_table
from lakesieve.index.find import matching_files
from lakesieve.predicate.expression import (
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Not,
    NullSafeEqual,
    Or,
    StartsWith,
)

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakesieve.index.access import TableAccess
    from lakesieve.predicate import Expr

_COUNT = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentQuery:
    """One query.

    Args:
        text: Its condition on the table.
        shape: The same without any value that it compares with.
        read: Data files that it read, if that was recorded.
        seconds: What reading took.
        left_by_format: Data files of the current version that the format's own statistics leave.
        left: Data files that the indexes leave of those.
        indexes: Those that take part.
        reasons: Codes of what was done, and why not more.
    """

    text: str
    shape: str
    read: int | None
    seconds: float | None
    left_by_format: int
    left: int
    indexes: tuple[str, ...]
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecentQueries:
    """The latest queries, newest first.

    Args:
        queries: They.
        problems: What could not be read of the logs, and why.
    """

    queries: tuple[RecentQuery, ...]
    problems: tuple[str, ...]


def recent_queries(
    access: TableAccess,
    table: str,
    event_logs: Iterable[str],
    *,
    location: str | None = None,
) -> RecentQueries:
    """Read the latest queries of a table from event logs, and plan them anew.

    Raises:
        NotFoundError: No such table, or no log.
        StorageError: The storage failed.
    """
    opened = access.open_table(table)
    version = opened.version()
    live = opened.live_files(version).column("path")
    read = read_event_logs(event_logs, [known_table(opened)], access.options(None))
    indexes, _ = access.indexes(opened, location)
    found = []
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
        found.append(
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
    return RecentQueries(queries=tuple(found), problems=read.problems)


def shape_of(condition: Expr) -> str:
    """The columns and the operators of a condition, without any value."""
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
        case Constant():
            return str(condition.value)
        case _:
            return "..."
