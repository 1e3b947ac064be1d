"""Translate SQL text and the conditions of query engines into ranges of key codes per column."""

from __future__ import annotations

from lakesieve.predicate.bind import AskedKey, ColumnType, Condition, bind
from lakesieve.predicate.expression import Expr
from lakesieve.predicate.protocol import ELEMENTS, ENTRIES, WORDS, condition_of, written_value
from lakesieve.predicate.ranges import Ranges
from lakesieve.predicate.row_filter import (
    AllOf,
    AlwaysFalse,
    AlwaysTrue,
    AnyOf,
    ColumnRanges,
    ElementRanges,
    EntryRows,
    KeysWith,
    RowFilter,
    all_of,
    any_of,
    exact_values,
    rows_where,
)
from lakesieve.predicate.sql_text import literal_sql, source_of_many, to_sql, value_text

__all__ = [
    "ELEMENTS",
    "ENTRIES",
    "WORDS",
    "AllOf",
    "AlwaysFalse",
    "AlwaysTrue",
    "AnyOf",
    "AskedKey",
    "ColumnRanges",
    "ColumnType",
    "Condition",
    "ElementRanges",
    "EntryRows",
    "Expr",
    "KeysWith",
    "Ranges",
    "RowFilter",
    "all_of",
    "any_of",
    "bind",
    "condition_of",
    "exact_values",
    "literal_sql",
    "rows_where",
    "source_of_many",
    "to_sql",
    "value_text",
    "written_value",
]
