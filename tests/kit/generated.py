"""Generated rows and predicates, for tests that compare the answers of tables of any format.

Every column mixes nulls, extremes and values spread over all files by a multiplicative hash; what a
predicate compares with is what some rows have, lies beside it, or is extreme.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import random
    from collections.abc import Collection, Sequence

ROWS = 2_400
FILES = 12

# in few files each, so that looking for one of them skips the others
_SPECIAL = (
    "CASE WHEN id % 59 = 0 THEN NULL WHEN id BETWEEN 100 AND 120 THEN 'NaN' "
    "WHEN id BETWEEN 500 AND 520 THEN '-0.0' WHEN id BETWEEN 900 AND 920 THEN '0.0' "
    "WHEN id = 1300 THEN 'Infinity' WHEN id = 1700 THEN '-Infinity' WHEN id = 2100 THEN '1e-324' "
    "WHEN id % 2 = 0 THEN '0.5' ELSE"
)
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
KEYS = ("i", "l", "s", "d", "t", "n", "m", "b", "x", "f", "y", "w", "st.k")
_FOLDERS = ("NULL", "'x y'", "'50%+é/ü'", "'a=b'", "'%20'", "'plain'")
FOLDERS = f"element_at(array({', '.join(_FOLDERS)}), CAST(id % {len(_FOLDERS)} AS INT) + 1)"


def rows_of(spark: Any, count: int = ROWS, *, files: int = FILES, folders: bool = False) -> Any:
    """Rows with all columns and their number ``id``.

    Args:
        spark: The session.
        count: How many.
        files: Partitions of the frame.
        folders: Whether they have a column ``p`` too, to partition by.
    """
    columns = COLUMNS | ({"p": FOLDERS} if folders else {})
    selected = (f"{expression} AS {name}" for name, expression in columns.items())
    return spark.range(0, count, 1, files).selectExpr("id", *selected)


def predicate(
    drawn: random.Random,
    columns: Sequence[str] = (*KEYS, "st.v"),
    *,
    without_in: Collection[str] = ("p",),
    depth: int = 2,
) -> str:
    """Draw a predicate.

    Args:
        drawn: Draws everything.
        columns: Those that it may compare, indexed or not.
        without_in: Columns that are not looked for in lists: Iceberg 1.11 fails on ``NOT IN``
            where the value of a partition is null.
        depth: How deep ``AND``, ``OR`` and ``NOT`` may be nested.
    """
    if depth and drawn.random() < 0.55:
        left, right = (
            predicate(drawn, columns, without_in=without_in, depth=depth - 1) for _ in range(2)
        )
        joined = f"({left}) {drawn.choice(('AND', 'AND', 'OR'))} ({right})"
        return f"NOT ({joined})" if drawn.random() < 0.2 else joined
    leaf = _leaf(drawn, drawn.choice(columns), without_in)
    return f"NOT ({leaf})" if drawn.random() < 0.15 else leaf


def _leaf(drawn: random.Random, column: str, without_in: Collection[str]) -> str:
    if column == "b" and drawn.random() < 0.3:
        return drawn.choice(("b", "b IS NOT TRUE", "b <=> false"))
    kind = drawn.random()
    if kind < 0.08:
        return f"{column} IS {drawn.choice(('', 'NOT '))}NULL"
    # Spark 4.1 cannot print a null of binary type that it hands to the table
    null = "X''" if column == "y" else "NULL"
    if kind < 0.12:
        return f"{column} <=> {drawn.choice((null, _literal(drawn, column)))}"
    if column == "s" and kind < 0.3:
        return f"s LIKE '{drawn.choice(('k1%', 'ü%', '%', 'k49%', 'zz%', 'k1_', 'k%5'))}'"
    if kind < 0.45 or (kind < 0.7 and column in without_in):
        return f"{column} = {_literal(drawn, column)}"
    if kind < 0.7:
        values = [_literal(drawn, column) for _ in range(drawn.choice((1, 3, 14)))]
        if drawn.random() < 0.2:
            values.append(null)
        return f"{column} {drawn.choice(('', '', 'NOT '))}IN ({', '.join(values)})"
    if kind < 0.85:
        return f"{column} BETWEEN {_literal(drawn, column)} AND {_literal(drawn, column)}"
    if kind < 0.9:
        return f"{_literal(drawn, column)} {drawn.choice(('<', '>='))} {column}"
    return f"{column} {drawn.choice(('<', '<=', '>', '>=', '<>'))} {_literal(drawn, column)}"


def _literal(drawn: random.Random, column: str) -> str:
    number = drawn.randrange(ROWS)
    match column:
        case "id":
            return str(number)
        case "i":
            return str(drawn.choice(((number * 7919) % 1009 - 500, -501, 2147483647, 12.5)))
        case "l":
            extreme = drawn.choice(("9223372036854775807L", "-9223372036854775808L", "0L"))
            return drawn.choice((str((number * 104729) % 100003), "-3", extreme))
        case "s":
            return drawn.choice((f"'k{(number * 31) % 501}'", "''", f"'ü{number}'", "'none'"))
        case "d":
            return f"date_add(DATE'1969-12-20', {drawn.randrange(-3, 63)})"
        case "t":
            micros = ((number * 7907) % 2003) * 999983 - 1000000000 + drawn.choice((0, 0, 1))
            return f"timestamp_micros({micros})"
        case "n":
            micros = ((number * 7901) % 1999) * 1000003
            return f"CAST(timestamp_micros({micros}) AS TIMESTAMP_NTZ)"
        case "m":
            return f"CAST({((number * 13) % 997 - 400) / 8} AS DECIMAL(12,3))"
        case "b":
            return drawn.choice(("true", "false"))
        case "p":
            return drawn.choice((*_FOLDERS, "'none'"))
        case "x" | "f":
            return _float(drawn, number, column)
        case "y":
            text = f"CAST('k{(number * 37) % 503}' AS BINARY)"
            return drawn.choice((text, text, "X''", "X'00'", "X'FF'", "X'FFFF'", "X'6B'"))
        case "w":
            extreme = "9999999999999999999999999999.9999999999"
            small = str(((number * 19) % 991 - 500) / 8)
            return drawn.choice((small, small, extreme, f"-{extreme}", "12.50000000001"))
        case _:
            return str((number * 23) % 977)


def _float(drawn: random.Random, number: int, column: str) -> str:
    special = drawn.choice(
        ("double('NaN')", "0.0D", "-0.0D", "double('-Infinity')", "double('Infinity')")
    )
    tiny = "CAST('1e-45' AS FLOAT)" if column == "f" else "4.9E-324D"
    tenth = f"{(number * 8089) % 1019 / 10}"
    plain = f"CAST({tenth} AS FLOAT)" if column == "f" else f"{(number * 8101) % 1013}D / 7"
    return drawn.choice((plain, plain, special, tiny, tenth, f"{tenth}D", "0.5", "3", "1e308"))
