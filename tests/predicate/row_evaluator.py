"""Evaluate predicates on single rows, slowly. Tests compare with this twin."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    StartsWith,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def accepts(expr: Expr, row: Mapping[tuple[str, ...], int | bytes | None]) -> bool | None:
    """Evaluate a predicate on a row of key codes under SQL's three-valued logic.

    Raises:
        ValueError: The predicate holds something unknown.
    """
    match expr:
        case And():
            results = [accepts(arg, row) for arg in expr.args]
            return False if False in results else None if None in results else True
        case Or():
            results = [accepts(arg, row) for arg in expr.args]
            return True if True in results else None if None in results else False
        case Not():
            inner = accepts(expr.arg, row)
            return None if inner is None else not inner
        case Constant():
            return expr.value
        case Compare() | In() | IsNull() | NullSafeEqual() | StartsWith():
            return _leaf(expr, row[expr.column])
    raise ValueError(f"nothing is known of {expr}")


def _leaf(
    expr: Compare | In | IsNull | NullSafeEqual | StartsWith, value: int | bytes | None
) -> bool | None:
    match expr:
        case IsNull():
            return value is None
        case NullSafeEqual():
            return value is None if expr.value is None else value == _code(expr.value)
    if value is None:
        return None
    match expr:
        case Compare():
            return _compare(expr.op, value, _code(expr.value))
        case In():
            if any(value == _code(item) for item in expr.values):
                return True
            return None if expr.has_null else False
        case StartsWith():
            return isinstance(value, bytes) and value.startswith(expr.prefix)


def _code(literal: Literal) -> int | bytes:
    if not isinstance(literal.value, (int, bytes)):
        raise ValueError(f"{literal} is not a key code")
    return literal.value


def _compare(op: str, a: int | bytes, b: int | bytes) -> bool:
    less = a < b  # type: ignore[operator]
    return {"=": a == b, "<": less, "<=": less or a == b, ">": not less and a != b}.get(
        op, not less
    )
