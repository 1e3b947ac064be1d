"""How tables are used: what the advisor knows of queries, wherever it has it from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakesieve.predicate import Expr


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedColumn:
    """A column that a join or a merge compares.

    Args:
        column: Its path.
        rows: Rows of the join's other side, if that is known.
    """

    column: tuple[str, ...]
    rows: int | None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TableUse:
    """One query that reads a table.

    Args:
        table: The number of the table.
        condition: What holds of every row that it needs.
        joined: Columns that it joins by.
        files: Data files that it read, if that was recorded.
        seconds: What reading took, if that was recorded.
        a_day: How often it is run a day.
        text: The condition as it was found.
    """

    table: int
    condition: Expr
    joined: tuple[JoinedColumn, ...] = ()
    files: int | None = None
    seconds: float | None = None
    a_day: float = 1.0
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UsesRead:
    """What was read of logs or statements.

    Args:
        uses: The uses of the tables that matter.
        queries: Queries in all.
        days: How many days the logs cover, at least one.
        problems: What could not be read, and why.
    """

    uses: tuple[TableUse, ...]
    queries: int
    days: float
    problems: tuple[str, ...] = ()
