"""Columns of drawn types, their rows as another writer writes them, and predicates on them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = [
    "KINDS",
    "POOL",
    "Field",
    "Kind",
    "arrow_rows",
    "draw_fields",
    "draw_predicate",
    "literal",
    "write",
]

POOL = 24
"""How many values a column has."""
HELD = 5
"""How many of them a file has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A type of columns.

    Args:
        ddl: Spark's name of it.
        arrow: How another writer stores it.
        values: All that its rows hold, besides nulls.
        read_as: Other types under which Spark may read it.
    """

    ddl: str
    arrow: Any
    values: Sequence[Any]
    read_as: Sequence[str] = ()


_DAY = dt.date(1969, 12, 20)
_MOMENT = dt.datetime.fromisoformat("2020-03-07T22:30:00")
_TEXTS = ("", "ab", "ab ", "ab  ", "abc", "AB", "ü", *(f"k{n}" for n in range(POOL - 7)))

KINDS = {
    "int": Kind(
        ddl="INT",
        arrow=pa.int32(),
        values=[n * 7 - 30 for n in range(POOL)],
        read_as=("BIGINT", "DOUBLE", "DECIMAL(12,2)", "SMALLINT", "TINYINT"),
    ),
    "bigint": Kind(
        ddl="BIGINT",
        arrow=pa.int64(),
        values=[(n - 3) * 2**33 + n for n in range(POOL)],
        read_as=("DECIMAL(20,0)", "INT"),
    ),
    "double": Kind(
        ddl="DOUBLE",
        arrow=pa.float64(),
        values=[float("nan"), *(n / 4 - 1 for n in range(POOL - 1))],
        read_as=("FLOAT",),
    ),
    "float": Kind(
        ddl="FLOAT",
        arrow=pa.float32(),
        values=[n / 4 - 1 for n in range(POOL)],
        read_as=("DOUBLE",),
    ),
    "decimal": Kind(
        ddl="DECIMAL(9,2)",
        arrow=pa.decimal128(9, 2),
        values=[Decimal(n * 25 - 100) / 100 for n in range(POOL)],
        read_as=("DECIMAL(12,2)", "DECIMAL(14,4)", "DECIMAL(9,1)"),
    ),
    "string": Kind(
        ddl="STRING", arrow=pa.string(), values=_TEXTS, read_as=("CHAR(6)", "VARCHAR(6)", "BINARY")
    ),
    "char": Kind(
        ddl="CHAR(5)", arrow=pa.string(), values=_TEXTS, read_as=("STRING", "CHAR(8)", "VARCHAR(9)")
    ),
    "varchar": Kind(
        ddl="VARCHAR(6)", arrow=pa.string(), values=_TEXTS, read_as=("STRING", "CHAR(6)")
    ),
    "date": Kind(
        ddl="DATE",
        arrow=pa.date32(),
        values=[_DAY + dt.timedelta(days=n) for n in range(POOL)],
        read_as=("TIMESTAMP_NTZ",),
    ),
    "timestamp": Kind(
        ddl="TIMESTAMP",
        arrow=pa.timestamp("us", tz="UTC"),
        values=[_MOMENT + dt.timedelta(minutes=30 * n) for n in range(POOL)],
        read_as=("TIMESTAMP_NTZ",),
    ),
    "boolean": Kind(ddl="BOOLEAN", arrow=pa.bool_(), values=[True, False]),
}


@dataclass(slots=True, kw_only=True)
class Field:
    """A column of a story.

    Args:
        name: Its name.
        kind: Its type, a key of ``KINDS``.
        ddl: What the table calls the type by now.
        extra: Further values that rows may have, such as defaults.
        nested: Whether it is the field ``k`` of a struct of that name.
    """

    name: str
    kind: str
    ddl: str
    extra: list[Any] = field(default_factory=list)
    nested: bool = False

    @property
    def key(self) -> str:
        """How SQL names it."""
        return f"{self.name}.k" if self.nested else self.name

    @property
    def declared(self) -> str:
        """The column in a CREATE TABLE."""
        kind = f"STRUCT<k: {self.ddl}, v: INT>" if self.nested else self.ddl
        return f"{self.name} {kind}"


def draw_fields(drawn: random.Random, names: Sequence[str], *, nested: bool = True) -> list[Field]:
    """Columns of drawn types; those of text and numbers are drawn most."""
    weights = {"int": 3, "char": 1, "varchar": 1, "boolean": 1}
    kinds = drawn.choices(list(KINDS), [weights.get(name, 2) for name in KINDS], k=len(names))
    fields = [
        Field(name=name, kind=kind, ddl=KINDS[kind].ddl)
        for name, kind in zip(names, kinds, strict=True)
    ]
    plain = [at for at in fields if at.kind not in ("char", "varchar")]
    if nested and plain and drawn.random() < 0.3:
        drawn.choice(plain).nested = True
    return fields


def arrow_rows(drawn: random.Random, fields: Sequence[Field], first: int, count: int) -> pa.Table:
    """Rows of one file, which has few of the values, scattered: their range says nothing.

    Args:
        drawn: Draws everything.
        fields: The columns; ``id`` comes before them.
        first: The first ``id``.
        count: How many rows.
    """
    columns: dict[str, Any] = {"id": pa.array(range(first, first + count), pa.int32())}
    for at in fields:
        kind = KINDS[at.kind]
        held = drawn.sample(list(kind.values), min(HELD, len(kind.values)))
        nulls = drawn.choice((0, 0.15, 0.15, 1))
        values = [None if drawn.random() < nulls else drawn.choice(held) for _ in range(count)]
        array = pa.array(values, kind.arrow)
        if at.nested:
            arrays = [array, pa.array(range(count), pa.int32())]
            array = pa.StructArray.from_arrays(arrays, ["k", "v"])
        columns[at.name] = array
    return pa.table(columns)


def write(path: Path, rows: pa.Table, modified: float) -> None:
    """Write a file as a program other than Spark does, at a moment of the past."""
    import os

    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(f".{path.name}.crc").unlink(missing_ok=True)
    pq.write_table(rows, path)
    os.utime(path, (modified, modified))


def literal(value: Any) -> str:
    """A value in SQL."""
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case dt.datetime():
            return f"TIMESTAMP'{value:%Y-%m-%d %H:%M:%S}'"
        case dt.date():
            return f"DATE'{value}'"
        case float():
            return "double('NaN')" if value != value else f"{value}D"  # noqa: PLR0124 - NaN
        case str():
            return "'" + value.replace("'", "\\'") + "'"
        case _:
            return str(value)


def draw_predicate(
    drawn: random.Random, fields: Sequence[Field], spelled: Mapping[str, str], depth: int = 1
) -> str:
    """Draw a predicate.

    Args:
        drawn: Draws everything.
        fields: The columns that it may compare.
        spelled: Their names as the rows have them.
        depth: How deep ``AND``, ``OR`` and ``NOT`` may be nested.
    """
    if depth and drawn.random() < 0.25:
        left, right = (draw_predicate(drawn, fields, spelled, depth - 1) for _ in range(2))
        joined = f"({left}) {drawn.choice(('AND', 'OR'))} ({right})"
        return f"NOT ({joined})" if drawn.random() < 0.2 else joined
    at = drawn.choice(fields)
    column = spelled[at.name] + (".k" if at.nested else "")
    values = [*KINDS[at.kind].values, *at.extra * 3]

    def one() -> str:
        return literal(drawn.choice(values))

    chance = drawn.random()
    if chance < 0.12:
        return f"{column} IS {drawn.choice(('', '', 'NOT '))}NULL"
    if chance < 0.45:
        return f"{column} {drawn.choice(('=', '=', '=', '<=>'))} {one()}"
    if chance < 0.65:
        listed = ", ".join(one() for _ in range(drawn.choice((1, 2, 3))))
        return f"{column} {drawn.choice(('', '', 'NOT '))}IN ({listed})"
    if at.kind in ("string", "char", "varchar") and chance < 0.75:
        pattern = drawn.choice(("ab%", "ab", "k1%", "%b", "k_"))
        return f"{column} LIKE '{pattern}'"
    if chance < 0.85:
        return f"{column} BETWEEN {one()} AND {one()}"
    return f"{column} {drawn.choice(('<', '<=', '>', '>=', '<>'))} {one()}"
