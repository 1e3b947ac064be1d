"""Elements of lists: drawn lists, and the conditions of the suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.many_keys.key_kind import DrawnTable, FileTable, KeyKind, SmallTable

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

_TEXTS = ("'a'", "'A'", "''", "'ß'", "'ss'", "'İ'", "'日本'", "'\U0001d4b3x'", "'a b'", "'absent'")
_NUMBERS = ("0", "1", "-1", "7", "2147483647")
_DOUBLES = ("0D", "-0D", "1.5D", "double('NaN')", "double('-Infinity')", "7D")
_DAYS = ("DATE'1970-01-01'", "DATE'2020-02-29'", "DATE'9999-12-31'")
_LISTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "texts": ("STRING", _TEXTS),
    "small": ("SMALLINT", ("0S", "1S", "-1S", "7S", "32767S")),
    "n": ("INT", _NUMBERS),
    "large": ("BIGINT", ("0L", "1L", "-1L", "7L", "9223372036854775807L")),
    "real": ("DOUBLE", _DOUBLES),
    "single": ("FLOAT", tuple(f"CAST({value} AS FLOAT)" for value in _DOUBLES)),
    "day": ("DATE", _DAYS),
    "at": ("TIMESTAMP", tuple(f"CAST({value} AS TIMESTAMP)" for value in _DAYS)),
    "money": ("DECIMAL(10, 2)", ("0.00BD", "1.50BD", "-7.25BD")),
    "wide": ("DECIMAL(38, 2)", ("0.00BD", "123456789012345678901234567890.12BD", "-1BD")),
    "data": ("BINARY", ("X''", "X'00'", "X'FF'", "X'6161'")),
    "flag": ("BOOLEAN", ("true", "false")),
    "inner.texts": ("STRING", _TEXTS),
}
"""The lists of the drawn tables: type of the elements, and elements."""


def _list_sql(drawn: random.Random, name: str) -> str:
    """A list as SQL: often null, empty, with nulls and with one element twice."""
    kind, values = _LISTS[name]
    length = drawn.choice([-1, 0, 1, 1, 2, 3])
    chosen = [drawn.choice([*values, "NULL"]) for _ in range(length)]
    text = "NULL" if length < 0 else f"array({', '.join(chosen)})"
    return f"CAST({text} AS ARRAY<{kind}>)"


def _leaf(drawn: random.Random, names: Sequence[str]) -> str:
    name = drawn.choice(names)
    kind, values = _LISTS[name]
    a, b, c = (drawn.choice(values) for _ in range(3))
    wider = {"n": "7L", "small": "7", "single": "1.5D"}.get(name, a)
    lists = f"CAST(array({a}, {b}, NULL) AS ARRAY<{kind}>)"
    forms = [
        *(f"array_contains({name}, {value})" for value in (a, b, wider, f"CAST({a} AS {kind})")),
        f"arrays_overlap({name}, {lists})",
        f"arrays_overlap(CAST(array({a}) AS ARRAY<{kind}>), {name})",
        *(f"exists({name}, x -> x {op} {a})" for op in ("=", "<=>", "<>", "<", ">=")),
        f"exists({name}, x -> x IN ({a}, {b}, {c}))",
        f"exists({name}, x -> {a} = x OR (x > {b} AND NOT x = {c}))",
        f"exists({name}, x -> x IS NULL OR x = {a})",
        f"exists({name}, x -> x IS NOT NULL)",
        f"exists({name}, x -> x = {a} OR k = 3)",
        f"get({name}, 0) = {a}",
        f"size({name}) = 1",
        f"{name} IS NULL",
        f"array_contains({name}, {a}) IS NULL",
    ]
    if kind == "STRING":
        forms += [f"exists({name}, x -> x LIKE '{a[1:-1]}%' AND lower(x) = 'a')"]
        forms += [f"exists({name}, x -> startswith(x, {a}))"]
    return f"({drawn.choice(forms)})"


def _part_leaf(drawn: random.Random, name: str) -> str:
    kind, values = _LISTS[name]
    a, b, c = (drawn.choice(values) for _ in range(3))
    forms = [
        *(f"x {op} {a}" for op in ("=", "=", "<=>", "<>", "<", ">=")),
        f"x IN ({a}, {b})",
        f"{a} = x OR (x > {b} AND NOT x = {c})",
        f"CAST({a} AS {kind}) = x",
        "x IS NULL",
        "x IS NOT NULL",
        f"coalesce(x, {a}) = {a}",
        f"x = {a} OR k = 3",
        f"x = {a} AND array_contains({name}, {b})",
        f"x = get({name}, 0)",
    ]
    return f"({drawn.choice(forms)})"


_SKIPS = {
    "contains": ("array_contains(tags, 't5')", 1),
    "overlap": ("arrays_overlap(tags, array('t5', 't12', NULL))", 2),
    "overlap, other order": ("arrays_overlap(array('t5'), tags)", 1),
    "exists": ("exists(tags, x -> x = 't5')", 1),
    "exists in": ("exists(tags, x -> x IN ('t5', 't12'))", 2),
    "exists of a range": ("exists(n, x -> x BETWEEN 30 AND 31)", 1),
    "exists of a prefix": ("exists(tags, x -> x LIKE 't5%')", 1),
    "exists or": ("exists(n, x -> x = 10 OR x = 24)", 2),
    # two elements of one row
    "and": ("array_contains(tags, 't5') AND array_contains(tags, 'u5')", 1),
    "and of two files": ("array_contains(tags, 't5') AND array_contains(tags, 't12')", 0),
    "or": ("array_contains(tags, 't5') OR array_contains(n, 24)", 2),
    "wider": ("array_contains(n, 24L)", 1),
    "field of a struct": ("array_contains(inner.d, 10)", 1),
    "not a number": ("exists(inner.d, x -> x = double('NaN'))", 1),
    "column as well": ("array_contains(tags, 't5') AND id = 5", 1),
    "absent": ("array_contains(tags, 'nothing')", 0),
}

_EXPLODED = {
    "plain": ("LATERAL VIEW explode(tags) e AS tag WHERE tag = 't5'", 1),
    "outer": ("LATERAL VIEW OUTER explode(tags) e AS tag WHERE tag = 't5'", 1),
    "two conditions": ("LATERAL VIEW explode(n) e AS x WHERE x >= 30 AND x < 32", 1),
    "places": ("LATERAL VIEW posexplode(tags) e AS at, tag WHERE tag LIKE 't12%' AND at = 0", 1),
    "field of a struct": ("LATERAL VIEW explode(inner.d) e AS x WHERE x = 10", 1),
    "two lists": (
        (
            "LATERAL VIEW explode(tags) e AS tag LATERAL VIEW explode(n) f AS x "
            "WHERE tag IN ('t5', 't12') AND x > 6"
        ),
        1,
    ),
    "absent": ("LATERAL VIEW explode(tags) e AS tag WHERE tag = 'nothing'", 0),
    "a null": ("LATERAL VIEW OUTER explode(tags) e AS tag WHERE tag IS NULL", 8),
    "another column": ("LATERAL VIEW explode(tags) e AS tag WHERE tag = 't5' OR id = 24", 8),
    "a function": ("LATERAL VIEW explode(tags) e AS tag WHERE lower(tag) = 't5'", 8),
    "a place": ("LATERAL VIEW posexplode(n) e AS at, x WHERE at = 0", 8),
}
_FILES = FileTable(
    columns=[
        "if(id % 5 = 4, NULL, array(concat('t', id), concat('u', id), NULL)) AS tags",
        "if(id % 5 = 3, CAST(array() AS ARRAY<INT>), array(CAST(id AS INT))) AS n",
        "named_struct('d', array(double(id), if(id = 3, double('NaN'), NULL))) AS inner",
    ],
    indexes={"tags": "elements(tags)", "n": "elements(n)", "d": "Elements( inner.D )"},
    skips=_SKIPS,
    exploded=_EXPLODED,
    # a negation, a null element, a place in the list and another column
    unanswered=[
        "NOT array_contains(tags, 't5')",
        "exists(tags, x -> x IS NULL)",
        "exists(n, x -> x = id)",
        "exists(tags, x -> lower(x) = 't5')",
        "NOT exists(n, x -> x = 24) OR array_contains(n, 24)",
    ],
    shown=(
        "array_contains(tags, 't5') AND exists(n, x -> x = 5)",
        ["exists(tags, x -> x = 't5')", "exists(n, x -> x = 5)"],
    ),
    numbered=("n", lambda number: f"array_contains(n, {number})"),
    type="int",
)

_SMALL = SmallTable(
    types=("ARRAY<STRING>", "ARRAY<INT>"),
    rows=("array(concat('t', id))", "array(CAST(id AS INT))"),
    added=("array('t3', 'new')", "array()"),
    old="array_contains({}, 't3')",
    new="array_contains({}, 'new')",
    other="array_contains({}, 3)",
    budget="8 bits",
    widened="d.element TYPE BIGINT",
    plain={
        "array_contains(c, 't3')": 1,
        "arrays_overlap(array('t3', 'no', NULL), c)": 2,
        "arrays_overlap(array('t3', 'no'), c)": 1,
        "array_contains(c, 't3') AND array_contains(c, 't13')": 0,
        "NOT array_contains(c, 't3')": 2,
        "array_contains(c, lower('T3'))": 2,
        "exists(c, x -> x = 't3')": 2,
    },
)

ELEMENTS = KeyKind(
    name="elements",
    drawn=DrawnTable(
        columns=list(_LISTS), value=_list_sql, leaf=_leaf, parts="x", part_leaf=_part_leaf
    ),
    files=_FILES,
    small=_SMALL,
)
