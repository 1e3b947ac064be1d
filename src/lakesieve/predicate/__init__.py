"""Translate SQL text and the conditions of query engines into ranges of key codes per column."""

from __future__ import annotations

from lakesieve.predicate.bind import ColumnType, Condition, bind
from lakesieve.predicate.expression import Expr
from lakesieve.predicate.protocol import condition_of
from lakesieve.predicate.ranges import Ranges
from lakesieve.predicate.row_filter import (
    AllOf,
    AlwaysFalse,
    AlwaysTrue,
    AnyOf,
    ColumnRanges,
    RowFilter,
    all_of,
    any_of,
    rows_where,
)
from lakesieve.predicate.sql_text import to_sql, value_text

__all__ = [
    "AllOf",
    "AlwaysFalse",
    "AlwaysTrue",
    "AnyOf",
    "ColumnRanges",
    "ColumnType",
    "Condition",
    "Expr",
    "Ranges",
    "RowFilter",
    "all_of",
    "any_of",
    "bind",
    "condition_of",
    "rows_where",
    "to_sql",
    "value_text",
]
