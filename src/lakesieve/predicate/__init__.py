"""Translate SQL text and the conditions of query engines into ranges of key codes per column."""

from __future__ import annotations

from lakesieve.predicate.bind import ColumnType, Condition, bind
from lakesieve.predicate.expression import Expr
from lakesieve.predicate.protocol import ELEMENTS, condition_of
from lakesieve.predicate.ranges import Ranges
from lakesieve.predicate.row_filter import (
    AllOf,
    AlwaysFalse,
    AlwaysTrue,
    AnyOf,
    ColumnRanges,
    ElementRanges,
    RowFilter,
    all_of,
    any_of,
    exact_values,
    rows_where,
)
from lakesieve.predicate.sql_text import list_of_elements, to_sql, value_text

__all__ = [
    "ELEMENTS",
    "AllOf",
    "AlwaysFalse",
    "AlwaysTrue",
    "AnyOf",
    "ColumnRanges",
    "ColumnType",
    "Condition",
    "ElementRanges",
    "Expr",
    "Ranges",
    "RowFilter",
    "all_of",
    "any_of",
    "bind",
    "condition_of",
    "exact_values",
    "list_of_elements",
    "rows_where",
    "to_sql",
    "value_text",
]
