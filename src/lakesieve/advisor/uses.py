"""Describe how tables are used: what queries restrict and join by, and the keys to try."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import combinations, islice
from typing import TYPE_CHECKING

from lakesieve.predicate import WORDS
from lakesieve.predicate.expression import (
    And,
    Compare,
    Expr,
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
from lakesieve.predicate.sql_text import column_sql

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from lakesieve.advisor.described_keys import DescribedKeys
    from lakesieve.tables import Column

_SINGLE, _TOGETHER = 12, 3
# columns that are compared together more rarely than this are served by their own indexes
_SELDOM = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedColumn:
    """A column that a join or a merge compares."""

    column: tuple[str, ...]
    rows: int | None  # rows of the join's other side, if known


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableUse:
    """One query that reads a table."""

    table: int
    condition: Expr  # a condition that holds for every row that the query needs
    joined: tuple[JoinedColumn, ...] = ()  # columns by which the query joins
    files: int | None = None  # data files that the query read, if recorded
    seconds: float | None = None  # reading time, if recorded
    a_day: float = 1.0  # runs each day
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UsesRead:
    """The uses of tables, read from logs or statements."""

    uses: tuple[TableUse, ...]  # the uses of each table
    queries: int  # total number of queries
    days: float  # days that the logs cover, at least 1
    problems: tuple[str, ...] = ()  # what could not be read, and why


def candidates(
    uses: Sequence[TableUse],
    columns: Mapping[tuple[str, ...], Column],
    keys: DescribedKeys,
) -> list[tuple[Column, ...]]:
    """Return the keys to try, the most used first, then pairs of columns compared together.

    ``keys`` describes the keys that are no columns.
    """
    used: Counter[tuple[str, ...]] = Counter()
    pairs: Counter[tuple[tuple[str, ...], tuple[str, ...]]] = Counter()
    for use in uses:
        queried = keys_queried(use)
        used.update(queried)
        mine = {path for path in queried if _can_be_key(columns.get(path))}
        equal = sorted(path for path in _equal(use.condition) if path in mine)
        pairs.update(combinations(equal, 2))
    single = (_key(path, columns, keys) for path, _ in used.most_common())
    chosen = list(islice(filter(None, single), _SINGLE))
    often = max(3, _SELDOM * len(uses))
    for pair, count in pairs.most_common(_TOGETHER):
        if count >= often:
            first, second = sorted(pair, key=lambda path: -used[path])
            chosen.append((columns[first], columns[second]))
    return chosen


def keys_queried(use: TableUse) -> set[tuple[str, ...]]:
    """Return the keys that a use restricts or joins by.

    A key is a column by its path, or the SQL text of another key, such as ``("words(message)",)``.
    """
    return set(_restricted(use.condition)) | {one.column for one in use.joined}


def columns_queried(
    uses: Sequence[TableUse], columns: Mapping[tuple[str, ...], Column], keys: DescribedKeys
) -> set[tuple[str, ...]]:
    """Return the columns that uses restrict or join by, also as a part of other keys."""
    queried = set().union(*map(keys_queried, uses))
    others = (column for path in queried - set(columns) for column in keys.of(path[0]))
    return queried | {source.path for column in others for source in column.sources}


def looks_for_parts(condition: Expr) -> bool:
    """Return whether a condition looks for parts of texts, which an index on words answers."""
    match condition:
        case And() | Or():
            return any(map(looks_for_parts, condition.args))
        case Not():
            return looks_for_parts(condition.arg)
        case _:
            return isinstance(condition, OnText)


def _key(
    path: tuple[str, ...], columns: Mapping[tuple[str, ...], Column], keys: DescribedKeys
) -> tuple[Column, ...]:
    """Return the key columns of an index on a queried key; none if it cannot be indexed."""
    column = columns.get(path)
    if column is None:
        return keys.of(path[0])
    return (column,) if _can_be_key(column) else ()


def _can_be_key(column: Column | None) -> bool:
    return column is not None and column.kind != "other"


def _restricted(condition: Expr) -> Iterable[tuple[str, ...]]:
    match condition:
        case And() | Or():
            for arg in condition.args:
                yield from _restricted(arg)
        case Not(arg=OnText() as negated):
            yield from _restricted(negated.otherwise)
        case Not():
            # Spark adds IS NOT NULL to every comparison. An index on elements does not know the
            # rows without an element.
            if not isinstance(condition.arg, IsNull | OnElements):
                yield from _restricted(condition.arg)
        case OnText():
            # an index on the text itself finds a text by its beginning
            if isinstance(condition.otherwise, Unknown):
                yield (f"{WORDS}({column_sql(condition.column)})",)
            yield from _restricted(condition.otherwise)
        case OnElements() | OnExpression():
            parts, column = column_of_parts(condition.tree)
            yield (f"{parts}({column_sql(column)})",)
        case StartsWith(prefix=b""):
            # as Spark begins every pattern of LIKE
            pass
        case Compare() | In() | IsNull() | NullSafeEqual() | StartsWith():
            yield condition.column


def _equal(condition: Expr) -> set[tuple[str, ...]]:
    """Return the columns that must have one of a few values in every needed row."""
    match condition:
        case And():
            return set().union(*(_equal(arg) for arg in condition.args))
        case Compare() if condition.op == "=":
            return {condition.column}
        case In() | NullSafeEqual():
            return {condition.column}
        case _:
            return set()
