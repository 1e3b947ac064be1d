"""Kinds of tables, and random commands next to a model of them in memory."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.spark.deletes.kit import load

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["KINDS", "Condition", "Model", "Row", "SqlTable", "condition"]

KEYS = 60
TEXTS = ("", "a", "ab", "abc", "b", "ü", "ab%")
MAX_ROWS = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """One way to keep a table.

    Args:
        provider: Its format.
        properties: What the table is made with.
    """

    provider: str
    properties: str

    @property
    def rewrites(self) -> bool:
        """True if a command rewrites files."""
        return "copy-on-write" in self.properties or "Vectors'='false" in self.properties


def _iceberg(version: int, mode: str) -> Kind:
    modes = ", ".join(f"'write.{c}.mode'='{mode}'" for c in ("delete", "update", "merge"))
    text = f"'format-version'='{version}', 'write.distribution-mode'='none', {modes}"
    return Kind(provider="iceberg", properties=text)


def _delta(*, vectors: bool) -> Kind:
    text = f"'delta.enableDeletionVectors'='{str(vectors).lower()}'"
    return Kind(provider="delta", properties=text)


KINDS = {
    "iceberg_2_on_read": _iceberg(2, "merge-on-read"),
    "iceberg_2_on_write": _iceberg(2, "copy-on-write"),
    "iceberg_3_on_read": _iceberg(3, "merge-on-read"),
    "iceberg_3_on_write": _iceberg(3, "copy-on-write"),
    "delta_vectors": _delta(vectors=True),
    "delta_rewrites": _delta(vectors=False),
}


class SqlTable:
    """An Iceberg or Delta table in a catalog.

    Args:
        spark: The session.
        kind: One of ``KINDS``.
        name: Without catalog and database.
        folder: Where a Delta table is.
    """

    def __init__(self, spark: SparkSession, kind: str, name: str, folder: Path) -> None:
        self.spark = spark
        self.kind = KINDS[kind]
        self.folder = folder / name
        database = "lake" if self.kind.provider == "iceberg" else "spark_catalog"
        spark.sql(f"CREATE DATABASE IF NOT EXISTS {database}.commands")
        self.name = f"{database}.commands.{name}"
        self.drop()

    def create(self, columns: str, more: str = "") -> None:
        """Create the table, with further properties."""
        delta = self.kind.provider == "delta"
        location = f"LOCATION '{self.folder}'" if delta else ""
        self.spark.sql(
            f"CREATE TABLE {self.name} ({columns}) USING {self.kind.provider} {location} "
            f"TBLPROPERTIES ({self.kind.properties}{more})"
        )

    def drop(self) -> None:
        """Drop the table if it exists."""
        self.spark.sql(f"DROP TABLE IF EXISTS {self.name}")

    def compact(self) -> str:
        """Return the command that rewrites the table's files."""
        if self.kind.provider == "delta":
            return f"OPTIMIZE {self.name}"
        options = "options => map('rewrite-all', 'true')"
        return f"CALL lake.system.rewrite_data_files(table => '{self.name}', {options})"

    def version(self) -> int:
        """Return the current version."""
        if self.kind.provider == "delta":
            return max(int(p.stem) for p in (self.folder / "_delta_log").glob("*[0-9].json"))
        return int(load(self.spark, self.name).currentSnapshot().snapshotId())

    def back(self, version: int) -> str:
        """Return the command that makes an earlier version current."""
        if self.kind.provider == "delta":
            return f"RESTORE TABLE {self.name} TO VERSION AS OF {version}"
        return f"CALL lake.system.rollback_to_snapshot('{self.name}', {version})"


class Row(NamedTuple):
    """A row of the model's table; ``id`` is unique."""

    id: int
    k: int | None
    s: str | None
    v: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition as SQL, and its value for a row: true, false or unknown."""

    text: str
    holds: Callable[[Row], bool | None]


def _comparison(column: str, sign: str, text: str, test: Callable[[Any], bool]) -> Condition:
    def holds(row: Row) -> bool | None:
        value = getattr(row, column)
        return None if value is None else test(value)

    return Condition(text=f"{column} {sign} {text}", holds=holds)


def _atom(drawn: random.Random) -> Condition:
    low, kind = drawn.randrange(KEYS), drawn.random()
    if kind < 0.25:
        return _comparison("k", "=", str(low), lambda k: k == low)
    if kind < 0.4:
        chosen = sorted(drawn.sample(range(KEYS), 3))
        result = f"({', '.join(map(str, chosen))})"
        return _comparison("k", "IN", result, lambda k: k in chosen)
    if kind < 0.55:
        high = low + drawn.randrange(5)
        return _comparison("k", "BETWEEN", f"{low} AND {high}", lambda k: low <= k <= high)
    if kind < 0.62:
        sign = drawn.choice(("<", ">="))
        return _comparison("k", sign, str(low), lambda k: (k < low) == (sign == "<"))
    if kind < 0.7:
        return Condition(text="k IS NULL", holds=lambda row: row.k is None)
    if kind < 0.75:
        return Condition(text=f"k <=> {low}", holds=lambda row: row.k == low)
    text = drawn.choice(TEXTS)
    if kind < 0.85:
        return _comparison("s", "=", f"'{text}'", lambda s: s == text)
    if kind < 0.92:
        return _comparison("s", "LIKE", "'ab%'", lambda s: s.startswith("ab"))
    remainder = drawn.randrange(3)
    return Condition(text=f"pmod(v, 3) = {remainder}", holds=lambda row: row.v % 3 == remainder)


def condition(drawn: random.Random, depth: int = 2) -> Condition:
    """Draw one over ``k``, ``s`` and ``v``."""
    kind = drawn.random()
    if not depth or kind < 0.5:
        return _atom(drawn)
    left = condition(drawn, depth - 1)
    if kind < 0.58:
        return Condition(text=f"NOT ({left.text})", holds=lambda row: _not(left.holds(row)))
    right, all_of = condition(drawn, depth - 1), kind < 0.85

    def holds(row: Row) -> bool | None:
        expected = {left.holds(row), right.holds(row)}
        # false decides an AND, true an OR
        if (not all_of) in expected:
            return not all_of
        return None if None in expected else all_of

    return Condition(text=f"({left.text} {'AND' if all_of else 'OR'} {right.text})", holds=holds)


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value


def _without_nulls(found: Condition) -> Condition:
    """Avoid a bug of Iceberg, which for ``k <> 1`` drops whole files with rows whose k is null."""
    return Condition(
        text=f"({found.text}) AND k IS NOT NULL AND s IS NOT NULL",
        holds=lambda row: found.holds(row) and None not in {row.k, row.s},
    )


def _text(value: Any) -> str:
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def _values(rows: Iterable[tuple[Any, ...]]) -> str:
    return ", ".join(f"({', '.join(map(_text, row))})" for row in rows)


@dataclass(slots=True)
class Model:
    """What a table should hold, changed as commands on it say.

    Args:
        table: The table's name.
        seed: Draws everything.
    """

    table: str
    seed: str
    rows: dict[int, Row] = field(default_factory=dict)
    made: int = 0
    drawn: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.drawn = random.Random(self.seed)

    def content(self) -> list[Row]:
        """The rows by ``id``."""
        return [self.rows[key] for key in sorted(self.rows)]

    def fresh(self, count: int) -> list[Row]:
        """Rows of new ``id``."""
        rows = []
        for _ in range(count):
            key = None if self.drawn.random() < 0.1 else self.drawn.randrange(KEYS)
            text = None if self.drawn.random() < 0.1 else self.drawn.choice(TEXTS)
            rows.append(Row(self.made, key, text, self.drawn.randrange(1000)))
            self.made += 1
        return rows

    def insert(self) -> str:
        """Insert a few rows."""
        rows = self.fresh(self.drawn.randrange(1, 9))
        self.rows |= {row.id: row for row in rows}
        return f"INSERT INTO {self.table} VALUES {_values(rows)}"

    def insert_keys(self, keys: Iterable[int]) -> str:
        """Insert a row of each of some keys, all into one file."""
        rows = [row._replace(k=key) for key in keys for row in self.fresh(1)]
        self.rows |= {row.id: row for row in rows}
        return f"INSERT INTO {self.table} SELECT /*+ COALESCE(1) */ * FROM VALUES {_values(rows)}"

    def update_key(self, key: int) -> str:
        """Change the rows of one key."""
        self.rows |= {row.id: row._replace(v=-1) for row in self.rows.values() if row.k == key}
        return f"UPDATE {self.table} SET v = -1 WHERE k = {key}"

    def delete(self) -> str:
        """Delete by a condition; more where there are many rows."""
        found = condition(self.drawn)
        if "NOT (" in found.text:
            found = _without_nulls(found)
        if len(self.rows) > MAX_ROWS:
            found = Condition(text="id % 2 = 0", holds=lambda row: row.id % 2 == 0)
        self._keep(lambda row: found.holds(row) is not True)
        return f"DELETE FROM {self.table} WHERE {found.text}"

    def delete_by_query(self) -> str:
        """Delete what a query of the same table finds."""
        found, more = condition(self.drawn), _atom(self.drawn)
        keys = {row.k for row in self.rows.values() if found.holds(row)} - {None}
        self._keep(lambda row: not (row.k in keys and more.holds(row)))
        query = f"SELECT k FROM {self.table} WHERE {found.text}"
        return f"DELETE FROM {self.table} WHERE k IN ({query}) AND {more.text}"

    def update(self) -> str:
        """Change one column by a condition."""
        found, step = condition(self.drawn), self.drawn.randrange(1, 9)
        changes: list[tuple[str, Callable[[Row], Row]]] = [
            (f"v = v + {step}", lambda row: row._replace(v=row.v + step)),
            (f"k = pmod(v, {KEYS})", lambda row: row._replace(k=row.v % KEYS)),
            ("k = NULL", lambda row: row._replace(k=None)),
            ("s = 'abc'", lambda row: row._replace(s="abc")),
        ]
        text, change = self.drawn.choice(changes)
        for key, row in self.rows.items():
            if found.holds(row):
                self.rows[key] = change(row)
        return f"UPDATE {self.table} SET {text} WHERE {found.text}"

    def merge(self) -> str:
        """Merge some keys, with several clauses."""
        source = {row.k: row for row in self.fresh(self.drawn.randrange(1, 6))}
        more = _atom(self.drawn) if self.drawn.random() < 0.4 else None
        removed = condition(self.drawn, 1) if self.drawn.random() < 0.4 else None
        inserts = self.drawn.random() < 0.6
        others = condition(self.drawn, 1) if self.drawn.random() < 0.3 else None
        matched = {
            key: source[row.k]
            for key, row in self.rows.items()
            if row.k is not None and row.k in source and (more is None or more.holds(row))
        }
        used = {row.k for row in matched.values()}
        for key, row in list(self.rows.items()):
            if key in matched and removed is not None and removed.holds(row):
                del self.rows[key]
            elif key in matched:
                self.rows[key] = row._replace(v=matched[key].v)
            elif others is not None and others.holds(row):
                self.rows[key] = row._replace(v=-row.v)
        if inserts:
            self.rows |= {row.id: row for row in source.values() if row.k not in used}
        clauses = [
            f"WHEN MATCHED AND {removed.text} THEN DELETE" if removed else "",
            "WHEN MATCHED THEN UPDATE SET v = n_v",
            "WHEN NOT MATCHED THEN INSERT (id, k, s, v) VALUES (n_id, n_k, n_s, n_v)"
            if inserts
            else "",
            f"WHEN NOT MATCHED BY SOURCE AND {others.text} THEN UPDATE SET v = -v"
            if others
            else "",
        ]
        names = ("BIGINT(n_id) n_id", "BIGINT(n_k) n_k", "STRING(n_s) n_s", "BIGINT(n_v) n_v")
        values = f"VALUES {_values(source.values())} AS x(n_id, n_k, n_s, n_v)"
        using = f"(SELECT {', '.join(names)} FROM {values})"
        on = "k = n_k" + (f" AND {more.text}" if more else "")
        text = " ".join(filter(None, clauses))
        return f"MERGE INTO {self.table} USING {using} ON {on} {text}"

    def _keep(self, test: Callable[[Row], bool]) -> None:
        self.rows = {key: row for key, row in self.rows.items() if test(row)}
