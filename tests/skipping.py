"""Tables and conditions for the tests that demand that files are skipped.

File ``f`` of a table holds the rows ``f``, ``f + 20`` and ``f + 40``, so that the smallest and the
largest value of a file rule out next to nothing. One file holds nulls. What a condition must read
is known by the numbers of the rows for which it is true.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CONDITIONS", "FILES", "KEYS", "SPARK_ROWS", "Condition", "Key", "part", "rows_of"]

FILES = 20
_WITH_NULL = 7
_EPOCH = datetime(2020, 1, 1, tzinfo=UTC)


def _since(number: int) -> timedelta:
    return timedelta(hours=number, microseconds=number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """A column of one type.

    Args:
        kind: Its type in Arrow.
        value: Its value in the row of a number.
        spark: The same as an expression of Spark over ``n``; empty where Spark has no such type.
        sql: A value as SQL text, in Spark's words and in DuckDB's.
    """

    kind: pa.DataType
    value: Callable[[int], Any]
    spark: str
    sql: Callable[[Any, str], str] = lambda value, _: str(value)


def _double(value: float, dialect: str) -> str:
    return f"{value!r}D" if dialect == "spark" else repr(value)


def _binary(value: bytes, dialect: str) -> str:
    if dialect == "spark":
        return f"X'{value.hex()}'"
    return "'" + "".join(f"\\x{byte:02X}" for byte in value) + "'::BLOB"


def _moment(value: datetime, dialect: str) -> str:
    zoned = value.tzinfo is not None
    names = {"spark": ("TIMESTAMP_NTZ", "TIMESTAMP"), "duckdb": ("TIMESTAMP", "TIMESTAMPTZ")}
    return f"{names[dialect][zoned]} '{value.isoformat(' ')}'"


KEYS = {
    "small": Key(kind=pa.int32(), value=lambda n: n, spark="CAST(n AS INT)"),
    "large": Key(kind=pa.int64(), value=lambda n: n * 10**10, spark="n * 10000000000"),
    "text": Key(
        kind=pa.string(),
        value=lambda n: f"k{n:02}-é",
        spark="concat('k', lpad(n, 2, '0'), '-é')",
        sql=lambda value, _: f"'{value}'",
    ),
    "day": Key(
        kind=pa.date32(),
        value=lambda n: date(2020, 1, 1) + timedelta(n),
        spark="date_add(DATE'2020-01-01', CAST(n AS INT))",
        sql=lambda value, _: f"DATE '{value}'",
    ),
    "moment": Key(
        kind=pa.timestamp("us", "UTC"),
        value=lambda n: _EPOCH + _since(n),
        spark="timestamp_micros(1577836800000000 + n * 3600000001)",
        sql=_moment,
    ),
    "plain": Key(
        kind=pa.timestamp("us"),
        value=lambda n: _EPOCH.replace(tzinfo=None) + _since(n),
        spark="TIMESTAMP_NTZ'2020-01-01 00:00:00' "
        "+ make_dt_interval(0, CAST(n AS INT), 0, n / 1000000)",
        sql=_moment,
    ),
    "money": Key(
        kind=pa.decimal128(10, 2),
        value=lambda n: Decimal(n) + Decimal("0.25"),
        spark="CAST(n + 0.25BD AS DECIMAL(10, 2))",
    ),
    "wide": Key(
        kind=pa.decimal128(38, 2),
        value=lambda n: Decimal(f"{n}00000000000000000000.25"),
        spark="CAST(concat(n, '00000000000000000000.25') AS DECIMAL(38, 2))",
    ),
    "real": Key(kind=pa.float64(), value=lambda n: n + 0.1, spark="n + 0.1D", sql=_double),
    "single": Key(
        kind=pa.float32(), value=lambda n: n + 0.5, spark="CAST(n + 0.5 AS FLOAT)", sql=_double
    ),
    "data": Key(
        kind=pa.binary(),
        value=lambda n: b"k%02d\xff" % n,
        spark="unhex(concat(hex(concat('k', lpad(n, 2, '0'))), 'FF'))",
        sql=_binary,
    ),
    "flag": Key(
        kind=pa.bool_(),
        value=lambda n: n == 25,
        spark="n = 25",
        sql=lambda value, _: str(value).lower(),
    ),
    "token": Key(
        kind=pa.uuid(),
        value=lambda n: uuid.UUID(int=n * 2**122),
        spark="",
        sql=lambda value, _: f"'{value}'",
    ),
}
"""The columns, by name."""

SPARK_ROWS = (
    f"SELECT IF(id % 4 = 3, NULL, (id % 4) * {FILES} + id DIV 4) AS n FROM range(0, "
    f"{4 * FILES}, 1, {FILES}) WHERE id % 4 < 3 OR id DIV 4 = {_WITH_NULL}"
)
"""Rows with the numbers ``n`` in Spark, a file to each partition."""


def rows_of(file: int) -> list[int | None]:
    """The numbers of the rows of a file, null among them."""
    return [file, file + FILES, file + 2 * FILES, *([None] if file == _WITH_NULL else [])]


def part(file: int, names: list[str]) -> pa.Table:
    """The rows of a file.

    Args:
        file: Its number.
        names: Of which columns.
    """

    def column(key: Key) -> pa.Array:
        values = [None if n is None else key.value(n) for n in rows_of(file)]
        if key.kind == pa.uuid():
            stored = [None if value is None else value.bytes for value in values]
            return pa.ExtensionArray.from_storage(pa.uuid(), pa.array(stored, pa.binary(16)))
        return pa.array(values, key.kind)

    return pa.table({name: column(KEYS[name]) for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A form of condition.

    Args:
        sql: Its text over a column ``k`` and the values of rows, each written as ``{number}``.
        numbers: The rows for which it is true; ``None`` is null.
        spare: Files more that it may read: the end of a range may fall into a gap between keys.
        keys: The columns that it is for.
    """

    sql: str
    numbers: tuple[int | None, ...]
    spare: int = 0
    keys: frozenset[str] = frozenset(KEYS) - {"flag"}

    @property
    def most(self) -> int:
        """The number of files that it may read."""
        files = {_WITH_NULL if number is None else number % FILES for number in self.numbers}
        return len(files) + self.spare

    def text(self, name: str, dialect: str) -> str:
        """The condition as SQL.

        Args:
            name: The column.
            dialect: ``spark`` or ``duckdb``.
        """
        key = KEYS[name]
        found = self.sql.replace("k ", f"{name} ").replace("k,", f"{name},")
        for number in (1, 22, 24, 25, 26, 58):
            found = found.replace(f"{{{number}}}", key.sql(key.value(number), dialect))
        return found


_TEXT = frozenset({"text"})
CONDITIONS = {
    "=": Condition(sql="k = {25}", numbers=(25,), keys=frozenset(KEYS)),
    "in": Condition(sql="k IN ({22}, {25})", numbers=(22, 25)),
    "between": Condition(sql="k BETWEEN {24} AND {26}", numbers=(24, 25, 26)),
    "<": Condition(sql="k <= {1}", numbers=(0, 1), spare=1),
    ">": Condition(sql="k >= {58}", numbers=(58, 59), spare=1),
    "null": Condition(sql="k IS NULL", numbers=(None,), keys=frozenset(KEYS)),
    "or": Condition(sql="k = {22} OR k = {25}", numbers=(22, 25)),
    "and": Condition(sql="k = {25} AND small >= 0", numbers=(25,)),
    "not": Condition(sql="NOT (k <> {25})", numbers=(25,)),
    "prefix": Condition(sql="k LIKE 'k25%'", numbers=(25,), keys=_TEXT),
    "starts": Condition(sql="startswith(k, 'k25') AND small >= 0", numbers=(25,), keys=_TEXT),
    "alone": Condition(sql="k ", numbers=(25,), keys=frozenset({"flag"})),
}
"""The forms of conditions, by name."""
