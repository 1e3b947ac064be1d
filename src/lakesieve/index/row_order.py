"""The order of rows that a query asks for: ORDER BY one column, with a LIMIT."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Self

from lakesieve.errors import ErrorKind, InvalidInputError

_ORDER = re.compile(
    r"\s*(?P<column>.*?)(?:\s+(?P<direction>ASC|DESC))?(?:\s+NULLS\s+(?P<nulls>FIRST|LAST))?\s*",
    re.IGNORECASE | re.DOTALL,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RowOrder:
    """The first rows in the order of one column.

    Args:
        column: Name of the column.
        descending: Whether the highest value comes first.
        nulls_first: Whether null comes before all values.
        limit: Number of rows.
    """

    column: str
    descending: bool
    nulls_first: bool
    limit: int

    @classmethod
    def parse(cls, text: str, limit: int | None) -> Self:
        """Read an order such as ``k``, ``k DESC`` or ``k ASC NULLS LAST``.

        Without NULLS, null is the lowest value, as in Spark.

        Raises:
            InvalidInputError: It names no column, or there is no limit.
        """
        match = _ORDER.fullmatch(text)
        if match is None or not match["column"]:
            raise InvalidInputError(
                f"{text!r} is not an order.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Name one column, such as 'k', 'k DESC' or 'k ASC NULLS LAST'.",
            )
        if limit is None or limit < 1:
            raise InvalidInputError(
                "An order needs a limit of at least 1 row."
                if limit is None
                else f"A limit of {limit} rows asks for nothing.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Give the number of first rows: limit=100, or --limit 100.",
            )
        descending = (match["direction"] or "").upper() == "DESC"
        nulls = (match["nulls"] or "").upper()
        return cls(
            column=match["column"],
            descending=descending,
            nulls_first=nulls == "FIRST" if nulls else not descending,
            limit=limit,
        )

    def __str__(self) -> str:
        direction = "DESC" if self.descending else "ASC"
        nulls = "FIRST" if self.nulls_first else "LAST"
        return f"ORDER BY {self.column} {direction} NULLS {nulls} LIMIT {self.limit}"


def given_order(order_by: str | None, limit: int | None) -> RowOrder | None:
    """Return the order that a user gives, or ``None`` without one.

    Raises:
        InvalidInputError: Only one of the two is given, or the order cannot be read.
    """
    if order_by is not None:
        return RowOrder.parse(order_by, limit)
    if limit is not None:
        raise InvalidInputError(
            "Without an order, any rows are the first ones.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give an order: order_by='k DESC', or --order-by 'k DESC'.",
        )
    return None
