"""Filters as other libraries have them, drawn over the columns of the tables."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg import expressions
from tests.engines.tables import COLUMNS, rows

if TYPE_CHECKING:
    import random

__all__ = ["IS", "POLARS", "arrow_filter", "pyiceberg_filter"]

IS: Any = expressions
"""Whose classes are called with a name and a value, which their types do not tell."""

_COMPARISONS = (
    IS.EqualTo,
    IS.NotEqualTo,
    IS.LessThan,
    IS.LessThanOrEqual,
    IS.GreaterThan,
    IS.GreaterThanOrEqual,
)
POLARS = [
    pl.col("id") == 5,
    pl.col("id").is_in([1, 2, 3]) & (pl.col("real") > 0.5),
    pl.col("id").is_between(-4, 9),
    (pl.col("text") == "ab") | (pl.col("id") == 3),
    pl.col("text").str.starts_with("a"),
    ~(pl.col("real") > 1),
    pl.col("id").is_null(),
    ~pl.col("small").is_in([1, 2]),
    pl.col("day") == pl.date(2000, 4, 10),
    pl.col("id") + 1 == 5,
    pl.col("single") == 0.1,
    pl.col("single") <= 0.1,
    pl.col("single").is_in([0.1, 0.25]),
    pl.col("money") == Decimal("1.25"),
    pl.col("moment") < datetime(1970, 1, 5, tzinfo=UTC),
    pl.col("plain") >= datetime(1970, 1, 5),  # noqa: DTZ001 - it has none
    pl.col("data") == b"a",
    pl.col("flag"),
    pl.col("real") > 0,
    pl.col("real").is_nan(),
    pl.col("id").eq_missing(None),
    pl.col("id").ne_missing(5),
    pl.lit(5) < pl.col("id"),
]
"""Filters as Polars has them."""


def _scalar(drawn: random.Random, name: str) -> pa.Scalar:
    values = rows(drawn, 9).column(name).drop_null()
    return values[0] if len(values) else pa.scalar(None, COLUMNS[name])


def _arrow_leaf(drawn: random.Random) -> Any:
    name = drawn.choice(list(COLUMNS))
    field, value = pc.field(name), _scalar(drawn, name)
    kind = drawn.randrange(9)
    if kind == 0:
        return field.is_null()
    if kind == 1:
        return field.is_valid()
    if kind == 2 and name == "text" and value.is_valid:
        return pc.starts_with(field, value.as_py()[:2])
    if kind == 3 and name == "real":
        return pc.is_nan(field)
    if kind <= 5:
        values = [_scalar(drawn, name) for _ in range(3)] + [pa.scalar(None, COLUMNS[name])]
        chosen = [v.as_py() for v in drawn.sample(values, 2)]
        return field.isin(pa.array(chosen, COLUMNS[name]))
    ways = [field == value, field != value, field < value, field <= value, value < field]
    return drawn.choice(ways if name != "flag" else ways[:2])


def arrow_filter(drawn: random.Random, deep: int = 2) -> Any:
    """A filter as Arrow has them, over the columns of the tables."""
    kind = drawn.randrange(5)
    if deep == 0 or kind < 2:
        return _arrow_leaf(drawn)
    if kind == 2:
        return ~arrow_filter(drawn, deep - 1)
    left, right = arrow_filter(drawn, deep - 1), arrow_filter(drawn, deep - 1)
    return left & right if kind == 3 else left | right


def _literal(drawn: random.Random, name: str) -> Any:
    column = rows(drawn, 8).column(name).drop_null()
    return column[0].as_py() if len(column) else None


def _iceberg_leaf(drawn: random.Random) -> Any:
    name = drawn.choice(list(COLUMNS))
    kind = drawn.randrange(8)
    value = _literal(drawn, name)
    if kind == 0 or value is None or name == "flag":
        return drawn.choice([IS.IsNull, IS.NotNull])(name)
    if kind == 1 and name == "text":
        return drawn.choice([IS.StartsWith, IS.NotStartsWith])(name, value[:2])
    if kind == 2 and name == "real":
        return drawn.choice([IS.IsNaN, IS.NotNaN])(name)
    if kind <= 4:
        values = {v for v in (_literal(drawn, name) for _ in range(4)) if v is not None}
        numbers = {v for v in values if not (isinstance(v, float) and math.isnan(v))}
        return drawn.choice([IS.In, IS.NotIn])(name, numbers)
    if isinstance(value, float) and math.isnan(value):
        return IS.IsNull(name)
    return drawn.choice(_COMPARISONS)(name, value)


def pyiceberg_filter(drawn: random.Random, deep: int = 2) -> Any:
    """A filter as PyIceberg has them, over the columns of the tables."""
    kind = drawn.randrange(5)
    if deep == 0 or kind < 2:
        return _iceberg_leaf(drawn)
    if kind == 2:
        return IS.Not(pyiceberg_filter(drawn, deep - 1))
    made = IS.And if kind == 3 else IS.Or
    return made(pyiceberg_filter(drawn, deep - 1), pyiceberg_filter(drawn, deep - 1))
