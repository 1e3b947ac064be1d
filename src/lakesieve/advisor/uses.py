"""How tables are used: what the advisor knows of queries, wherever it has it from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakesieve.predicate import Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedColumn:
    """A column that a join or a merge compares."""

    column: tuple[str, ...]
    rows: int | None  # rows of the join's other side, if that is known


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableUse:
    """One query that reads a table."""

    table: int
    condition: Expr  # what holds of every row that it needs
    joined: tuple[JoinedColumn, ...] = ()  # columns that it joins by
    files: int | None = None  # data files that it read, if that was recorded
    seconds: float | None = None  # what reading took, if that was recorded
    a_day: float = 1.0  # how often it is run a day
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UsesRead:
    """What was read of logs or statements."""

    uses: tuple[TableUse, ...]  # the uses of the tables that matter
    queries: int  # queries in all
    days: float  # how many days the logs cover, at least one
    problems: tuple[str, ...] = ()  # what could not be read, and why
