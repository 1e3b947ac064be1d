"""Generated tables and predicates for the differential tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

__all__ = ["COLUMNS", "LAYOUTS", "Layout", "predicate"]

ROWS = 4_000
FILES = 20

# every column mixes nulls, extremes and values spread over all files by a multiplicative hash
COLUMNS = {
    "i": "IF(id % 97 = 0, NULL, CAST((id * 7919) % 1009 - 500 AS INT))",
    "l": "CASE WHEN id % 89 = 0 THEN NULL WHEN id = 5 THEN 9223372036854775807L "
    "WHEN id = 6 THEN -9223372036854775808L ELSE (id * 104729) % 100003 END",
    "s": "CASE WHEN id % 83 = 0 THEN NULL WHEN id % 61 = 0 THEN '' "
    "WHEN id % 59 = 0 THEN concat('ü', id) ELSE concat('k', (id * 31) % 501) END",
    "d": "IF(id % 79 = 0, NULL, date_add(DATE'1969-12-20', CAST((id * 17) % 60 AS INT)))",
    "t": "IF(id % 73 = 0, NULL, timestamp_micros(((id * 7907) % 2003) * 999983 - 1000000000))",
    "n": "CAST(timestamp_micros(((id * 7901) % 1999) * 1000003) AS TIMESTAMP_NTZ)",
    "m": "IF(id % 71 = 0, NULL, CAST(((id * 13) % 997 - 400) / 8 AS DECIMAL(12,3)))",
    "b": "id % 3 = 0",
    "x": "CAST(id / 7 AS DOUBLE)",
}
INDEXED = ("i", "l", "s", "d", "t", "n", "m")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a table is laid out."""

    name: str
    properties: str
    partitioning: str
    deletes: bool


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
    ),
    Layout(
        name="identity_partitioned",
        properties="'format-version'='2','write.delete.mode'='copy-on-write'",
        partitioning="PARTITIONED BY (d)",
        deletes=False,
    ),
)


def predicate(random_: random.Random, depth: int = 2) -> str:
    """Draw a predicate over the columns, indexed and not."""
    if depth and random_.random() < 0.55:
        left, right = predicate(random_, depth - 1), predicate(random_, depth - 1)
        joined = f"({left}) {random_.choice(('AND', 'AND', 'OR'))} ({right})"
        return f"NOT ({joined})" if random_.random() < 0.2 else joined
    leaf = _leaf(random_)
    return f"NOT ({leaf})" if random_.random() < 0.15 else leaf


def _leaf(random_: random.Random) -> str:
    column = random_.choice((*INDEXED, *INDEXED, "b", "x"))
    kind = random_.random()
    if kind < 0.08:
        return f"{column} IS {random_.choice(('', 'NOT '))}NULL"
    if kind < 0.12:
        return f"{column} <=> {random_.choice(('NULL', _literal(random_, column)))}"
    if column == "s" and kind < 0.3:
        return f"s LIKE '{random_.choice(('k1%', 'ü%', '%', 'k49%', 'zz%', 'k1_', 'k%5'))}'"
    if kind < 0.45:
        return f"{column} = {_literal(random_, column)}"
    if kind < 0.7:
        values = [_literal(random_, column) for _ in range(random_.choice((1, 3, 14)))]
        if random_.random() < 0.2:
            values.append("NULL")
        return f"{column} {random_.choice(('', '', 'NOT '))}IN ({', '.join(values)})"
    if kind < 0.85:
        low, high = _literal(random_, column), _literal(random_, column)
        return f"{column} BETWEEN {low} AND {high}"
    if kind < 0.9:
        return f"{_literal(random_, column)} {random_.choice(('<', '>='))} {column}"
    return f"{column} {random_.choice(('<', '<=', '>', '>=', '<>'))} {_literal(random_, column)}"


def _literal(random_: random.Random, column: str) -> str:
    number = random_.randrange(ROWS)
    match column:
        case "i":
            return str(random_.choice(((number * 7919) % 1009 - 500, -501, 2147483647, 12.5)))
        case "l":
            extreme = random_.choice(("9223372036854775807L", "-9223372036854775808L", "0L"))
            return random_.choice((str((number * 104729) % 100003), "-3", extreme))
        case "s":
            return random_.choice((f"'k{(number * 31) % 501}'", "''", f"'ü{number}'", "'none'"))
        case "d":
            return f"date_add(DATE'1969-12-20', {random_.randrange(-3, 63)})"
        case "t":
            micros = ((number * 7907) % 2003) * 999983 - 1000000000 + random_.choice((0, 0, 1))
            return f"timestamp_micros({micros})"
        case "n":
            micros = ((number * 7901) % 1999) * 1000003
            return f"CAST(timestamp_micros({micros}) AS TIMESTAMP_NTZ)"
        case "m":
            return f"CAST({((number * 13) % 997 - 400) / 8} AS DECIMAL(12,3))"
        case "b":
            return random_.choice(("true", "false"))
        case _:
            return f"{number / 7}D"
