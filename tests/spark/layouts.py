"""Layouts of tables, and conditions as people write them, for the differential tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.kit.generated import KEYS

if TYPE_CHECKING:
    import random

__all__ = ["LAYOUTS", "Layout", "written"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a table is laid out; ``null`` are partition columns that may be null."""

    name: str
    properties: str
    partitioning: str
    deletes: bool
    indexed: tuple[str, ...] = KEYS
    null: tuple[str, ...] = ()


LAYOUTS = (
    Layout(
        name="merge_on_read_v2",
        properties="'format-version'='2','write.delete.mode'='merge-on-read'",
        partitioning="",
        deletes=True,
    ),
    Layout(
        name="vectors_v3_partitioned",
        properties="'format-version'='3','write.delete.mode'='merge-on-read'",
        partitioning="PARTITIONED BY (bucket(4, l), b)",
        deletes=True,
        indexed=("i", "l", "s", "d", "t", "n", "m", "b", "x"),
        null=("b",),
    ),
    Layout(
        name="identity_partitioned",
        properties="'format-version'='2','write.delete.mode'='copy-on-write'",
        partitioning="PARTITIONED BY (d)",
        deletes=False,
        indexed=("i", "l", "s", "d", "t", "n", "m", "f", "w"),
        null=("d",),
    ),
)


# how the values of a column are written in predicates that are not sent through Spark
WRITTEN = {
    "i": ("12", "12.0", "12.5", "1e1", "-7.0D", "'12'", "5L", "CAST(7 AS BIGINT)", "2.5F", "7BD"),
    "l": (
        "9007199254740993",
        "9007199254740992",
        "9007199254740992D",
        "1.00000000000000000001",
        "9223372036854775807",
        "1e18",
        "104729D",
        "4726",
    ),
    "s": ("'k5'", "'ü1003'", "''", "'k49'", "'\\u006b5'", "'\\k5'"),
    "d": ("DATE'1970-01-03'", "'1970-01-03'", "TIMESTAMP'1970-01-03 00:00:00'"),
    "t": ("TIMESTAMP'1969-12-31 18:43:20'", "'1969-12-31 18:43:20'", "DATE'1970-01-01'"),
    "n": ("TIMESTAMP_NTZ'1969-12-31 19:00:00'", "TIMESTAMP'1969-12-31 19:00:00'", "'1970-01-01'"),
    "m": ("1.5", "1.5D", "1e1", "'12'", "CAST(1.5 AS DECIMAL(5,2))", "1.5BD", "0.125", "12.0F"),
    "b": ("true", "false"),
    "x": (
        "0.5",
        "3",
        "3.0",
        "'0.5'",
        "1e0",
        "double('NaN')",
        "-0.0",
        "4.9E-324",
        "1.5F",
        "16777217",
    ),
    "f": ("0.1", "0.1D", "CAST(0.1 AS FLOAT)", "0.5F", "'0.1'", "16777217", "3", "'NaN'", "10.7"),
    "y": ("X'6B35'", "x''", "X'00'", "X'ff'"),
    "w": ("12.50000000001", "12.5", "12.5D", "'12.5'", "1", "1e1", "-62.5BD"),
    "st.k": ("23", "23.0", "2.3e1"),
}


def written(random_: random.Random) -> str:
    """Draw a condition with a value in one of the ways to write it."""
    column = random_.choice(tuple(WRITTEN))
    values = WRITTEN[column]
    value, kind = random_.choice(values), random_.random()
    if column == "s" and kind < 0.2:
        return "s LIKE 'k4%'"
    if kind < 0.45:
        text = f"{column} = {value}"
    elif kind < 0.6:
        text = f"{column} {random_.choice(('<', '<=', '>', '>=', '<=>'))} {value}"
    elif kind < 0.7:
        text = f"{column} BETWEEN {value} AND {random_.choice(values)}"
    else:
        count = min(len(values), random_.choice((1, 1, 2)))
        text = f"{column} IN ({', '.join(random_.sample(values, count))})"
    return f"NOT ({text})" if random_.random() < 0.3 else text
