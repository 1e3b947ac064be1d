"""Conditions on the day of a moment, such as ``date(ts) = '2026-01-05'``."""

from __future__ import annotations

import re
from datetime import date, timedelta

from lakesieve.predicate.expression import And, Compare, Expr, Literal

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def compare_day(column: tuple[str, ...], op: str, day: str) -> Expr | None:
    """Return a comparison of a moment that is true where that of its day is.

    Returns:
        ``None`` where the text is no day.
    """
    try:
        first = date.fromisoformat(day) if _DAY.fullmatch(day) else None
        following = None if first is None else first + timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    if first is None or following is None:
        return None
    begins = Literal(kind="day_text", value=first.isoformat())
    ends = Literal(kind="day_text", value=following.isoformat())
    from_begin = Compare(column=column, op=">=", value=begins)
    before_end = Compare(column=column, op="<", value=ends)
    match op:
        case "=":
            return And(args=(from_begin, before_end))
        case "<":
            return Compare(column=column, op="<", value=begins)
        case "<=":
            return before_end
        case ">":
            return Compare(column=column, op=">=", value=ends)
    return from_begin
