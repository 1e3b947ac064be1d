"""Parse SQL text into a predicate, with sqlglot in Spark's dialect."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import TYPE_CHECKING

import sqlglot
from sqlglot import expressions as sql
from sqlglot.errors import SqlglotError

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.predicate.converting import MIRRORED
from lakesieve.predicate.expression import (
    And,
    Compare,
    Constant,
    Expr,
    In,
    IsNull,
    Literal,
    Not,
    NullSafeEqual,
    Or,
    Unknown,
)
from lakesieve.predicate.parse_parts import part_condition
from lakesieve.predicate.parse_texts import text_condition
from lakesieve.predicate.sql_operands import column_of, literal_of

if TYPE_CHECKING:
    from sqlglot.expressions import Expression

LONGEST = 32_000_000
DEEPEST = 150

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_QUERY = "SELECT 1 FROM t WHERE "

_OPERATORS: dict[type[Expression], str] = {
    sql.EQ: "=",
    sql.LT: "<",
    sql.LTE: "<=",
    sql.GT: ">",
    sql.GTE: ">=",
}


_COMPARISONS = frozenset(
    (*_OPERATORS, sql.NEQ, sql.NullSafeEQ, sql.Between, sql.In, sql.Like, sql.ILike)
)
"""Kinds of conditions whose sides are compared with each other."""


def parse_sql(text: str) -> Expr:
    """Parse a predicate such as ``a = 5 AND s LIKE 'x%'``.

    Returns:
        The predicate, with :class:`Unknown` for the parts that no index can answer.

    Raises:
        InvalidInputError: The text is not a condition.
    """
    if len(text) > LONGEST:
        raise _invalid(
            f"The predicate is too long: {len(text)} characters.",
            "Use Index.locate() to look up many keys.",
        )
    if not text.strip():
        raise _invalid("The predicate is empty.")
    try:
        # parsed as a whole query, so that text which closes the condition early is detected
        query = sqlglot.parse(f"{_QUERY}{text}\n", dialect="spark")
    except (SqlglotError, RecursionError) as error:
        raise _invalid(
            f"The predicate {_short(text)!r} cannot be parsed{_place(error)}."
        ) from error
    tree = query[0] if len(query) == 1 else None
    if not isinstance(tree, sql.Select) or tree.args.get("where") is None:
        raise _invalid(f"The text {_short(text)!r} is not a single condition.")
    extra = {k for k, v in tree.args.items() if v} - {
        "expressions",
        "from",
        "from_",
        "where",
        "kind",
    }
    if extra:
        raise _invalid(f"The text {_short(text)!r} has more than one condition in it.")
    condition = tree.args["where"].this
    if condition.find(sql.Select, sql.Subquery):
        raise _invalid(
            f"The predicate {_short(text)!r} contains a subquery.",
            "Run it in Spark with lakesieve enabled, or give the values themselves.",
        )
    return _expr(condition, 0)


def _invalid(message: str, hint: str = "") -> InvalidInputError:
    return InvalidInputError(
        message,
        kind=ErrorKind.INVALID_PREDICATE,
        hint=hint or "Write one condition, as in a WHERE clause: id = 5 AND day >= '2026-01-31'.",
    )


def _place(error: Exception) -> str:
    """Return the place in the text where the parser stopped, if the error names it."""
    match = getattr(error, "errors", None) or [{}]
    line, column = match[0].get("line"), match[0].get("col")
    return f" at character {column - len(_QUERY)}" if line == 1 and column else ""


def _short(text: str) -> str:
    return text if len(text) <= 80 else text[:77] + "..."


def _expr(node: Expression, depth: int) -> Expr:
    if depth > DEEPEST:
        return Unknown(text="too deep")
    match node:
        case sql.Paren():
            return _expr(node.this, depth + 1)
        case sql.And() | sql.Or():
            kind = sql.And if isinstance(node, sql.And) else sql.Or
            args = tuple(_expr(arg, depth + 1) for arg in _chain(node, kind))
            return And(args=args) if kind is sql.And else Or(args=args)
        case sql.Not():
            return Not(arg=_expr(node.this, depth + 1))
        case sql.Boolean():
            return Constant(value=bool(node.this))
        case sql.Null():
            return Constant(value=None)
        case sql.Column() | sql.Dot():
            return _truth_of(node)
    return _leaf(node) or part_condition(node, _leaf, _text(node)) or _unknown(node)


def _text(node: Expression) -> str:
    return _short(node.sql(dialect="spark", normalize_functions="lower"))


def _unknown(node: Expression) -> Unknown:
    """Return a condition that no index answers, with what looks like text without quotes in it."""
    compared: list[tuple[str, ...]] = []
    dates: list[str] = []
    for operand in _operands(node) if type(node) in _COMPARISONS else ():
        column = column_of(operand)
        if column is not None:
            compared.append(column)
        elif isinstance(operand, sql.Sub):
            written = "".join(operand.sql(dialect="spark").split())
            dates += [written] if _DAY.fullmatch(written) else []
    return Unknown(
        text=_text(node),
        # a column that is compared with no other one is missing for other reasons
        compared=tuple(compared) if len(compared) > 1 else (),
        bare_dates=tuple(dates),
    )


def _operands(node: Expression) -> list[Expression]:
    """Return what a comparison compares."""
    sides = [node.args.get(name) for name in ("this", "expression", "low", "high")]
    return [side for side in (*sides, *node.expressions) if isinstance(side, sql.Expression)]


def _truth_of(node: Expression) -> Expr:
    """Read a column that stands alone, which must be boolean."""
    column = column_of(node)
    if column is None:
        return _unknown(node)
    return Compare(column=column, op="=", value=Literal(kind="boolean", value=True))


def _chain(node: Expression, kind: type[Expression]) -> list[Expression]:
    """Return the operands of a chain of one operator. It loops, because chains may be long."""
    operands: list[Expression] = []
    waiting = [node]
    while waiting:
        top = waiting.pop()
        if isinstance(top, kind):
            waiting += [top.expression, top.this]
        else:
            operands.append(top)
    return operands


def _leaf(node: Expression) -> Expr | None:
    for kind, op in _OPERATORS.items():
        if type(node) is kind:
            return _comparison(op, node.this, node.expression) or text_condition(node)
    match node:
        case sql.NEQ():
            equal = _comparison("=", node.this, node.expression)
            return None if equal is None else Not(arg=equal)
        case sql.NullSafeEQ():
            return _null_safe(node)
        case sql.Is():
            column = column_of(node.this)
            if column is not None and isinstance(node.expression, sql.Null):
                return IsNull(column=column)
            if column is not None and isinstance(node.expression, sql.Boolean):
                return NullSafeEqual(column=column, value=literal_of(node.expression))
        case sql.Between():
            low = _comparison(">=", node.this, node.args["low"])
            high = _comparison("<=", node.this, node.args["high"])
            if low is not None and high is not None and not node.args.get("symmetric"):
                return And(args=(low, high))
        case sql.In():
            return _in(node)
    return text_condition(node)


def _comparison(op: str, left: Expression, right: Expression) -> Expr | None:
    for side, other, towards in ((left, right, op), (right, left, MIRRORED[op])):
        column = _day_of(side)
        if column is not None:
            return _on_days(column, towards, other)
    column = column_of(left)
    if column is None:
        column, op, right = column_of(right), MIRRORED[op], left
    if column is None:
        return None
    if isinstance(right, sql.Null):
        return Constant(value=None)
    value = literal_of(right)
    return None if value is None else Compare(column=column, op=op, value=value)


def _day_of(node: Expression) -> tuple[str, ...] | None:
    """Return the column of ``date(column)`` or ``CAST(column AS DATE)``."""
    while isinstance(node, sql.Paren):
        node = node.this
    match node:
        case sql.Cast() if node.to.this == sql.DataType.Type.DATE:
            return column_of(node.this)
        case sql.TsOrDsToDate() if not node.args.get("format"):
            return column_of(node.this)
    return None


def _on_days(column: tuple[str, ...], op: str, other: Expression) -> Expr | None:
    """Compare the day of a timestamp column with a constant."""
    if isinstance(other, sql.Null):
        return Constant(value=None)
    value = literal_of(other)
    if value is None or value.kind not in {"text", "date_text"}:
        return None
    return _compare_day(column, op, str(value.value))


def _compare_day(column: tuple[str, ...], op: str, day: str) -> Expr | None:
    """Return a comparison of timestamps that is equivalent to a comparison of their days."""
    if not _DAY.fullmatch(day):
        return None
    try:
        first = date.fromisoformat(day)
        days = (first, first + timedelta(days=1))
    except (ValueError, OverflowError):
        return None
    begin, end = (Literal(kind="day_text", value=one.isoformat()) for one in days)
    if op == "=":
        bounds = ((">=", begin), ("<", end))
        return And(args=tuple(Compare(column=column, op=of, value=value) for of, value in bounds))
    of, value = {"<": ("<", begin), "<=": ("<", end), ">": (">=", end), ">=": (">=", begin)}[op]
    return Compare(column=column, op=of, value=value)


def _null_safe(node: Expression) -> Expr | None:
    column, other = column_of(node.this), node.expression
    if column is None:
        column, other = column_of(node.expression), node.this
    if column is None:
        return None
    if isinstance(other, sql.Null):
        return NullSafeEqual(column=column, value=None)
    value = literal_of(other)
    return None if value is None else NullSafeEqual(column=column, value=value)


def _in(node: Expression) -> Expr | None:
    column = column_of(node.this)
    if column is None or not node.expressions or node.args.get("unnest") or node.args.get("query"):
        return None
    items = [item for item in node.expressions if not isinstance(item, sql.Null)]
    values = [literal_of(item) for item in items]
    literals = tuple(value for value in values if value is not None)
    if len(literals) < len(values):
        return None
    return In(column=column, values=literals, has_null=len(items) < len(node.expressions))
