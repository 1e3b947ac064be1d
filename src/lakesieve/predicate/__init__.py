"""SQL text and Spark's conditions to ranges of key codes per column."""

from __future__ import annotations

from lakesieve.predicate.bind import ColumnType, Condition, bind
from lakesieve.predicate.catalyst import from_catalyst
from lakesieve.predicate.parse import parse_sql
from lakesieve.predicate.ranges import Ranges
from lakesieve.predicate.truth import (
    AllOf,
    AnyOf,
    Everything,
    Leaf,
    Nothing,
    Truth,
    all_of,
    any_of,
    told,
    truth,
)

__all__ = [
    "AllOf",
    "AnyOf",
    "ColumnType",
    "Condition",
    "Everything",
    "Leaf",
    "Nothing",
    "Ranges",
    "Truth",
    "all_of",
    "any_of",
    "bind",
    "from_catalyst",
    "parse_sql",
    "told",
    "truth",
]
