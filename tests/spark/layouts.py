"""Generated tables and predicates for the differential tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random

__all__ = ["COLUMNS", "LAYOUTS", "Layout", "predicate"]

ROWS = 4_000
FILES = 20

# in few files each, so that looking for one of them skips the others
_SPECIAL = (
    "CASE WHEN id % 59 = 0 THEN NULL WHEN id BETWEEN 100 AND 120 THEN 'NaN' "
    "WHEN id BETWEEN 500 AND 520 THEN '-0.0' WHEN id BETWEEN 900 AND 920 THEN '0.0' "
    "WHEN id = 1300 THEN 'Infinity' WHEN id = 1700 THEN '-Infinity' WHEN id = 2100 THEN '1e-324' "
    "WHEN id % 2 = 0 THEN '0.5' ELSE"
)

# every column mixes nulls, extremes and values spread over all files by a multiplicative hash
COLUMNS = {
    "i": "IF(id % 97 = 0, NULL, CAST((id * 7919) % 1009 - 500 AS INT))",
    "l": "CASE WHEN id % 89 = 0 THEN NULL WHEN id = 5 THEN 9223372036854775807L "
    "WHEN id = 6 THEN -9223372036854775808L WHEN id = 7 THEN 9007199254740993L "
    "WHEN id = 8 THEN 9007199254740992L ELSE (id * 104729) % 100003 END",
    "s": "CASE WHEN id % 83 = 0 THEN NULL WHEN id % 61 = 0 THEN '' "
    "WHEN id % 59 = 0 THEN concat('ü', id) ELSE concat('k', (id * 31) % 501) END",
    "d": "IF(id % 79 = 0, NULL, date_add(DATE'1969-12-20', CAST((id * 17) % 60 AS INT)))",
    "t": "IF(id % 73 = 0, NULL, timestamp_micros(((id * 7907) % 2003) * 999983 - 1000000000))",
    "n": "CAST(timestamp_micros(((id * 7901) % 1999) * 1000003) AS TIMESTAMP_NTZ)",
    "m": "IF(id % 71 = 0, NULL, CAST(((id * 13) % 997 - 400) / 8 AS DECIMAL(12,3)))",
    "b": "IF(id % 67 = 0, NULL, id % 3 = 0)",
    "x": f"CAST({_SPECIAL} CAST((id * 8101) % 1013 / 7 AS STRING) END AS DOUBLE)",
    "f": f"CAST({_SPECIAL.replace('-324', '-45')} CAST((id * 8089) % 1019 / 10 AS STRING) END "
    "AS FLOAT)",
    "y": "CASE WHEN id % 53 = 0 THEN NULL WHEN id % 47 = 0 THEN X'' WHEN id % 43 = 0 THEN X'00' "
    "WHEN id % 41 = 0 THEN X'FFFF' ELSE CAST(concat('k', (id * 37) % 503) AS BINARY) END",
    "w": "CASE WHEN id % 61 = 0 THEN NULL "
    "WHEN id = 9 THEN CAST('9999999999999999999999999999.9999999999' AS DECIMAL(38,10)) "
    "WHEN id = 10 THEN CAST('-9999999999999999999999999999.9999999999' AS DECIMAL(38,10)) "
    "ELSE CAST(((id * 19) % 991 - 500) / 8 AS DECIMAL(38,10)) END",
    "st": "IF(id % 37 = 0, NULL, named_struct('k', IF(id % 31 = 0, NULL, (id * 23) % 977), "
    "'v', id))",
}
INDEXED = ("i", "l", "s", "d", "t", "n", "m", "b", "x", "f", "y", "w", "st.k")


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How a table is laid out."""

    name: str
    properties: str
    partitioning: str
    deletes: bool
    indexed: tuple[str, ...] = INDEXED


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
    ),
    Layout(
        name="identity_partitioned",
        properties="'format-version'='2','write.delete.mode'='copy-on-write'",
        partitioning="PARTITIONED BY (d)",
        deletes=False,
        indexed=("i", "l", "s", "d", "t", "n", "m", "f", "w"),
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
    column = random_.choice((*INDEXED, "st.v"))
    if column == "b" and random_.random() < 0.3:
        return random_.choice(("b", "b IS NOT TRUE", "b <=> false"))
    kind = random_.random()
    if kind < 0.08:
        return f"{column} IS {random_.choice(('', 'NOT '))}NULL"
    # Spark 4.1 cannot print a null of binary type that it hands to the table
    null = "X''" if column == "y" else "NULL"
    if kind < 0.12:
        return f"{column} <=> {random_.choice((null, _literal(random_, column)))}"
    if column == "s" and kind < 0.3:
        return f"s LIKE '{random_.choice(('k1%', 'ü%', '%', 'k49%', 'zz%', 'k1_', 'k%5'))}'"
    if kind < 0.45:
        return f"{column} = {_literal(random_, column)}"
    if kind < 0.7:
        values = [_literal(random_, column) for _ in range(random_.choice((1, 3, 14)))]
        if random_.random() < 0.2:
            values.append(null)
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
        case "x" | "f":
            return _float(random_, number, column)
        case "y":
            text = f"CAST('k{(number * 37) % 503}' AS BINARY)"
            return random_.choice((text, text, "X''", "X'00'", "X'FF'", "X'FFFF'", "X'6B'"))
        case "w":
            extreme = "9999999999999999999999999999.9999999999"
            small = str(((number * 19) % 991 - 500) / 8)
            return random_.choice((small, small, extreme, f"-{extreme}", "12.50000000001"))
        case _:
            return str((number * 23) % 977)


def _float(random_: random.Random, number: int, column: str) -> str:
    special = random_.choice(
        ("double('NaN')", "0.0D", "-0.0D", "double('-Infinity')", "double('Infinity')")
    )
    tiny = "CAST('1e-45' AS FLOAT)" if column == "f" else "4.9E-324D"
    tenth = f"{(number * 8089) % 1019 / 10}"
    plain = f"CAST({tenth} AS FLOAT)" if column == "f" else f"{(number * 8101) % 1013}D / 7"
    return random_.choice((plain, plain, special, tiny, tenth, f"{tenth}D", "0.5", "3", "1e308"))


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
