"""Entries of maps: drawn maps, and the conditions of the suite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.spark.many_keys.key_kind import DrawnTable, FileTable, KeyKind, SmallTable

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

_TEXTS = ("'a'", "'A'", "''", "'ß'", "'İ'", "'日本'", "'\U0001d4b3x'", "'a b'", "'a\\0b'", "'no'")
_LONGS = ("0L", "1L", "-1L", "7L", "9223372036854775807L")
_DOUBLES = ("0D", "1.5D", "double('NaN')", "double('-Infinity')", "7D")
_DAYS = ("DATE'1970-01-01'", "DATE'2020-02-29'", "DATE'9999-12-31'")
_TIMES = tuple(f"CAST({value} AS TIMESTAMP)" for value in _DAYS)
_CENTS = ("0.00BD", "1.50BD", "-7.25BD")
_WIDE = ("0.00BD", "123456789012345678901234567890.12BD", "-1.00BD")
_BYTES = ("X''", "X'00'", "X'FF'", "X'0000'", "X'6161'")
_MAPS: dict[str, tuple[tuple[str, tuple[str, ...]], tuple[str, tuple[str, ...]]]] = {
    "texts": (("STRING", _TEXTS), ("STRING", _TEXTS)),
    "n": (("INT", ("0", "1", "-1", "7")), ("BIGINT", _LONGS)),
    "real": (("DOUBLE", _DOUBLES), ("DOUBLE", (*_DOUBLES, "-0D"))),
    "single": (("STRING", _TEXTS), ("FLOAT", tuple(f"CAST({v} AS FLOAT)" for v in _DOUBLES))),
    "day": (("DATE", _DAYS), ("TIMESTAMP", _TIMES)),
    "money": (("DECIMAL(10, 2)", _CENTS), ("DECIMAL(38, 2)", _WIDE)),
    "wide": (("DECIMAL(38, 2)", _WIDE), ("DECIMAL(10, 2)", _CENTS)),
    "data": (("BINARY", _BYTES), ("BINARY", _BYTES)),
    "flag": (("BOOLEAN", ("true", "false")), ("BOOLEAN", ("true", "false"))),
    "inner.texts": (("STRING", _TEXTS), ("INT", ("0", "1", "-1", "7"))),
}
"""The maps of the drawn tables: type and values of the keys, and of the values."""


def _map_sql(drawn: random.Random, name: str) -> str:
    """A map as SQL: often null, empty, and with null values."""
    (key, keys), (kind, values) = _MAPS[name]
    length = drawn.choice([-1, 0, 1, 1, 2, 3])
    chosen = drawn.sample(keys, min(length, len(keys))) if length > 0 else []
    entries = [drawn.choice([*values, "NULL"]) for _ in chosen]
    if length < 0:
        return f"CAST(NULL AS MAP<{key}, {kind}>)"
    lists = f"CAST(array({', '.join(chosen)}) AS ARRAY<{key}>)"
    return f"map_from_arrays({lists}, CAST(array({', '.join(entries)}) AS ARRAY<{kind}>))"


def _leaf(drawn: random.Random, names: Sequence[str]) -> str:
    name = drawn.choice(names)
    (key_type, keys), (kind, values) = _MAPS[name]
    key, other = (drawn.choice(keys) for _ in range(2))
    if key_type.startswith("DECIMAL"):
        # Spark converts no decimals here
        key, other = (f"CAST({text} AS {key_type})" for text in (key, other))
    a, b, c = (drawn.choice(values) for _ in range(3))
    value = drawn.choice([f"{name}[{key}]", f"element_at({name}, {key})"])
    value = drawn.choice([value, value, f"try_element_at({name}, {key})"])
    wider = {"n": "element_at(n, 7L)", "real": "real[-0D]"}.get(name, value)
    forms = [
        *(f"{value} {operator} {a}" for operator in ("=", "<=>", "<>", "<", ">=")),
        f"{a} = {value}",
        f"{wider} = {a}",
        f"{value} = CAST({a} AS {kind})",
        f"{value} IN ({a}, {b}, {c})",
        f"{value} NOT IN ({a}, {b})",
        f"{value} BETWEEN {a} AND {b}",
        f"{value} >= {a} AND {name}[{key}] < {b}",
        f"{value} = {a} AND {name}[{other}] = {b}",
        f"{value} = {a} OR {name}[{other}] <=> {b}",
        f"{value} IS NOT NULL",
        f"{value} IS NULL",
        f"{value} <=> NULL",
        f"{value} = {name}[{other}]",
        f"map_contains_key({name}, {key})",
        f"map_contains_key({name}, {key}) AND {value} IS NULL",
        f"array_contains(map_keys({name}), {key})",
        f"exists(map_keys({name}), x -> x = {key} OR x > {other})",
        f"exists(map_keys({name}), x -> x IS NOT NULL)",
        f"array_contains(map_values({name}), {a})",
        f"size({name}) = 1",
        f"{name} IS NULL",
    ]
    if kind == "STRING":
        forms += [
            f"{value} LIKE '{a[1:-1]}%'",
            f"startswith({value}, {a})",
            f"lower({value}) = 'a'",
        ]
    if kind == "BOOLEAN":
        forms += [value, f"NOT {value}"]
    return f"({drawn.choice(forms)})"


def _part_leaf(drawn: random.Random, name: str) -> str:
    (key_type, keys), (_, values) = _MAPS[name]
    key, other = (f"CAST({drawn.choice(keys)} AS {key_type})" for _ in range(2))
    a, b = (drawn.choice(values) for _ in range(2))
    forms = [
        *(f"key = {key} AND value {operator} {a}" for operator in ("=", "<=>", "<>", "<", ">=")),
        f"key = {key}",
        f"key IN ({key}, {other}) AND value IN ({a}, {b})",
        f"key >= {key} AND value = {a}",
        f"key = {key} AND value IS NULL",
        f"(key = {key} AND value = {a}) OR (key = {other} AND value = {b})",
        f"(key = {key} OR key = {other}) AND (value = {a} OR value IS NULL)",
        f"key = {key} AND value = {a} AND {name}[{other}] = {b}",
        f"key <> {key} OR value = {a}",
        f"value = {a}",
        "value IS NULL",
        "key IS NULL",
        "key IS NOT NULL",
        f"key = {key} OR k = 3",
    ]
    return f"({drawn.choice(forms)})"


_SKIPS = {
    "value": ("attributes['a'] = 't5'", 1),
    "other order": ("'t5' = attributes['a']", 1),
    "element_at": ("element_at(attributes, 'a') = 't5'", 1),
    "try_element_at": ("try_element_at(attributes, 'a') <=> 't5'", 1),
    "with a dot": ("attributes.a = 't5'", 1),
    "value of another key": ("attributes['b'] = 't5'", 0),
    "in": ("attributes['a'] IN ('t5', 't12')", 2),
    "above": ("NOT attributes['a'] <= 't7'", 1),
    "prefix": ("attributes['a'] LIKE 't5%'", 1),
    "range": ("counts[1] BETWEEN 30 AND 31", 1),
    "range from two conditions": ("counts[1] > 29 AND element_at(counts, 1) < 31", 1),
    "wider key": ("element_at(counts, 1L) = 24", 1),
    "wider value": ("counts[1] = 24L", 1),
    "or": ("attributes['a'] = 't5' OR counts[1] = 24", 2),
    "two keys": ("attributes['a'] = 't5' AND attributes['b'] = 'u5'", 1),
    "two keys of two files": ("attributes['a'] = 't5' AND attributes['b'] = 'u12'", 0),
    "not null": ("counts[77] IS NOT NULL", 1),
    "key": ("map_contains_key(counts, 77)", 1),
    "key, spelled out": ("exists(map_keys(counts), x -> x > 76)", 1),
    "key of a null": ("map_contains_key(attributes, 'only 8')", 1),
    "field of a struct": ("nested.d['x'] = 10", 1),
    "not a number": ("nested.d['x'] = double('NaN')", 1),
    "column as well": ("attributes['a'] = 't5' AND id = 5", 1),
    "absent": ("attributes['a'] = 'nothing'", 0),
    "absent key": ("attributes['nothing'] = 't5'", 0),
}

_MAP_ROWS = "LATERAL VIEW explode(attributes) e AS k, v WHERE"
_EXPLODED = {
    "key and value": (f"{_MAP_ROWS} k = 'a' AND v = 't5'", 1),
    "outer": ("LATERAL VIEW OUTER explode(attributes) e AS k, v WHERE k = 'a' AND v = 't5'", 1),
    "values": (f"{_MAP_ROWS} k IN ('a', 'b') AND v IN ('t5', 'u12')", 2),
    "places": ("LATERAL VIEW posexplode(counts) e AS at, k, v WHERE k = 1 AND v = 24", 1),
    "range": ("LATERAL VIEW explode(counts) e AS k, v WHERE k = 1 AND v > 29 AND v < 31", 1),
    "key": (f"{_MAP_ROWS} k = 'only 8'", 1),
    "null value": (f"{_MAP_ROWS} k = 'only 8' AND v IS NULL", 1),
    "value of another key": (f"{_MAP_ROWS} k = 'b' AND v = 't5'", 0),
    "or": (f"{_MAP_ROWS} (k = 'a' AND v = 't5') OR (k = 'b' AND v = 'u12')", 2),
    "keys": ("LATERAL VIEW explode(map_keys(counts)) e AS k WHERE k > 76", 1),
    "field of a struct": ("LATERAL VIEW explode(nested.d) e AS k, v WHERE k = 'x' AND v = 10", 1),
    "value of any key": (f"{_MAP_ROWS} v = 't5'", 8),
    "no key": ("LATERAL VIEW OUTER explode(attributes) e AS k, v WHERE k IS NULL", 8),
    "another column": (f"{_MAP_ROWS} (k = 'a' AND v = 't5') OR id = 24", 8),
}
_FILES = FileTable(
    columns=[
        (
            "if(id % 5 = 4, NULL, map('a', concat('t', id), 'b', concat('u', id), "
            "concat('only ', id), NULL)) AS attributes"
        ),
        "if(id = 20, map(77, 1), map(1, CAST(id AS INT))) AS counts",
        "named_struct('d', map('x', if(id = 3, double('NaN'), double(id)))) AS nested",
    ],
    indexes={
        "attributes": "entries(attributes)",
        "counts": "entries(counts)",
        "x": "Entries( nested.D )",
    },
    skips=_SKIPS,
    exploded=_EXPLODED,
    # a null, a value of any key, another function and another column
    unanswered=[
        "attributes['a'] IS NULL",
        "attributes['a'] = 't5' OR attributes['b'] IS NULL",
        "NOT map_contains_key(counts, 77)",
        "array_contains(map_values(attributes), 't5')",
        "lower(attributes['a']) = 't5'",
        "counts[1] = id",
        "counts[id] = 5",
        "attributes['a'] = attributes['b']",
        "size(counts) = 1",
    ],
    codes=frozenset({"no-usable-predicate", "not-selective"}),
    shown=(
        "attributes['a'] = 't5' AND counts[1] BETWEEN 5 AND 6 AND map_contains_key(counts, 1)",
        [
            "attributes['a'] = 't5'",
            "counts[1] BETWEEN 5 AND 6",
            "exists(map_keys(counts), x -> x = 1)",
        ],
    ),
    numbered=("counts", lambda number: f"counts[1] = {number}"),
    type="map<int,int>",
)

_SMALL = SmallTable(
    types=("MAP<STRING, STRING>", "MAP<STRING, INT>"),
    rows=("map('a', concat('t', id))", "map('a', CAST(id AS INT))"),
    added=("map('a', 't3', 'z', 'new')", "map()"),
    old="{}['a'] = 't3'",
    new="{}['z'] = 'new'",
    other="{}['a'] = 3",
    budget="8 bits",
    widened="d.value TYPE BIGINT",
    plain={
        "c['a'] = 't3'": 1,
        "'t3' = element_at(c, 'a')": 1,
        "c['a'] IN ('t3', 't4')": 1,
        "c['a'] LIKE 't3%'": 1,
        "NOT c['a'] <= 't8'": 1,
        "map_contains_key(c, 'z')": 0,
        "c['a'] = 't3' AND c['z'] = 't3'": 0,
        "c['a'] IS NULL": 2,
        "c['a'] = c['z']": 2,
        "c[lower('A')] = 't3'": 2,
        "lower(c['a']) = 't3'": 2,
    },
)

ENTRIES = KeyKind(
    name="entries",
    drawn=DrawnTable(
        columns=list(_MAPS), value=_map_sql, leaf=_leaf, parts="key, value", part_leaf=_part_leaf
    ),
    files=_FILES,
    small=_SMALL,
)
