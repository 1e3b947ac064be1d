"""One script of SQL statements about indexes for every kind of session, with its results."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.extension.kit import HAS_ICEBERG, run_program

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

__all__ = ["check_program_statements", "check_statements", "rows_of"]

# what differs between runs
_DRAWN = frozenset({"bytes", "bytes_before", "created_at", "location"})
_MADE = {
    "name": "by_id",
    "columns": ["id"],
    "types": ["long"],
    "files": 2,
    "live_files": 2,
    "covered_files": 2,
    "rows": 40,
    "keys": 40,
    "budget": "",
    "rows_per_block": None,
}
_END = "end of the statement"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """One statement.

    Args:
        statement: Its text.
        rows: Its rows, or some of their columns. ``None`` for any rows.
        among: Rows that are among its rows.
        error: The code of the error that it ends with, if it does.
    """

    statement: str
    rows: list[dict[str, Any]] | None = None
    among: tuple[dict[str, Any], ...] = ()
    error: str = ""

    def check(self, found: list[dict[str, Any]], as_printed: Callable[[Any], Any]) -> None:
        """Insist on the rows.

        Args:
            found: The rows that were found.
            as_printed: Converts an expected value to what is found of it.
        """
        if self.rows is not None:
            assert len(found) == len(self.rows), self
            pairs = zip(found, self.rows, strict=True)
            assert [{name: row[name] for name in wanted} for row, wanted in pairs] == [
                {name: as_printed(value) for name, value in row.items()} for row in self.rows
            ], self
        for row in self.among:
            assert {name: as_printed(value) for name, value in row.items()} in found, self


def rows_of(session: Any, statement: str) -> list[dict[str, Any]]:
    """The rows of a statement by the names of their columns, without what differs between runs."""
    rows = (row.asDict(recursive=True) for row in session.sql(statement).collect())
    return [{name: row[name] for name in row if name not in _DRAWN} for row in rows]


def check_statements(session: Any, name: str, *, is_short: bool = False) -> None:
    """Run the script in a session, on a new table.

    The table is one of Iceberg, or of Delta where Iceberg has no runtime for the version of Spark.

    Args:
        session: The session.
        name: Name of the table.
        is_short: Whether to create and query indexes only.
    """
    table, form = _table(name)
    try:
        for step in _steps(table, form, is_short=is_short):
            if step.error:
                with pytest.raises(Exception, match=rf"\[{step.error}\]"):
                    session.sql(step.statement).collect()
                continue
            step.check(rows_of(session, step.statement), lambda value: value)
    finally:
        session.sql(f"DROP TABLE IF EXISTS {table}").collect()


def check_program_statements(
    program: str, settings: dict[str, str], folder: Path, *, is_short: bool = False
) -> None:
    """Run the script in ``spark-sql``, or in Scala in ``spark-shell``, on a new table.

    Args:
        program: The program.
        settings: Its settings.
        folder: Where its files go.
        is_short: As for :func:`check_statements`.
    """
    table, form = _table(program.replace("-", "_"))
    steps = [*_steps(table, form, is_short=is_short), _Step(statement=f"DROP TABLE {table}")]
    statements = [
        each for step in steps for each in (step.statement, f"SELECT '{_END}' AS `{_END}`")
    ]
    ran = run_program(program, settings, statements, folder, goes_on=True)
    parts = ran.stdout.split(f"{_END}\n{_END}\n")
    assert len(parts) == len(steps) + 1, ran.stderr[-5000:]
    for step, part in zip(steps, parts, strict=False):
        lines = [line.split("\t") for line in part.splitlines()]
        if step.error:
            assert lines == [], step
            assert f"[{step.error}]" in ran.stderr, step
        elif lines:
            names, *rows = lines
            found = [dict(zip(names, map(_plain, row), strict=True)) for row in rows]
            step.check(found, lambda value: _plain(_text(value)))
        else:
            assert not step.rows, step
            assert not step.among, step


def _table(name: str) -> tuple[str, str]:
    """Return a table's name, and its format."""
    return (f"lake.t.{name}", "iceberg") if HAS_ICEBERG else (f"t.{name}", "delta")


def _text(value: object) -> str:
    """Return a value as Spark's programs print it."""
    if isinstance(value, list):
        return f"[{','.join(map(str, value))}]"
    return "null" if value is None else str(value)


def _plain(text: str) -> str:
    """Return a printed value without what differs between Spark's programs."""
    return text.replace('"', "").replace(", ", ",").lower()


def _steps(table: str, form: str, *, is_short: bool = False) -> list[_Step]:
    steps = [
        _Step(statement=f"CREATE DATABASE IF NOT EXISTS {table.rpartition('.')[0]}"),
        _Step(statement=f"CREATE TABLE {table} (id BIGINT, email STRING) USING {form}"),
        _insertion(table, 0, 20),
        _insertion(table, 20, 40),
        *_creation(table),
    ]
    return steps if is_short else [*steps, *_upkeep(table), *_errors(table)]


def _insertion(table: str, first: int, end: int) -> _Step:
    rows = f"SELECT id, concat('A', id) FROM range({first}, {end}, 1, 1)"
    return _Step(statement=f"INSERT INTO {table} {rows}")


def _creation(table: str) -> list[_Step]:
    made = {**_MADE, "table": table}
    how = "OPTIONS (compaction = 0, rows_per_block = 'none')"
    statement = f"INDEX by_id ON TABLE {table} USING lakesieve (id) {how}"
    lenient = statement.replace("INDEX", "INDEX IF NOT EXISTS")
    expression = f"INDEX by_mail ON {table} USING lakesieve (lower(email))"
    return [
        _Step(statement=f"CREATE {statement}", rows=[made]),
        _Step(statement=f"create {lenient};", rows=[made]),
        _Step(
            statement=f"/* an expression */ CREATE {expression}",
            rows=[{"name": "by_mail", "columns": ["lower(email)"]}],
        ),
        _Step(
            statement=f"SHOW INDEXES ON {table}",
            rows=[{"name": "by_id"}, {"name": "by_mail"}],
        ),
        _Step(
            statement=f"SELECT id FROM {table} WHERE lower(email) = 'a5'",
            rows=[{"id": 5}],
        ),
    ]


def _upkeep(table: str) -> list[_Step]:
    dropped = {"index": "by_id", "table": table, "dropped": True}
    return [
        _insertion(table, 40, 50),
        _Step(
            statement=f"SHOW INDEXES IN {table}",
            rows=[{"covered_files": 2, "live_files": 3}, {"covered_files": 2}],
        ),
        _Step(
            statement=f"REFRESH INDEX by_id ON {table}",
            rows=[{"index": "by_id", "files": 1, "rows": 10}],
        ),
        _Step(
            statement=f"REFRESH INDEXES ON {table}",
            rows=[{"index": "by_id", "files": 0}, {"index": "by_mail", "files": 1}],
        ),
        _Step(
            statement=f"DESC INDEX by_id ON {table}",
            among=(
                {"property": "columns", "value": "id"},
                {"property": "covered_files", "value": "3"},
            ),
        ),
        _Step(statement=f"ALTER INDEX by_id ON {table} COMPACT", rows=[{"files": 3}]),
        _Step(statement=f"DROP INDEX by_id ON {table}", rows=[dropped]),
        _Step(
            statement=f"DROP INDEX IF EXISTS by_id ON {table}",
            rows=[{**dropped, "dropped": False}],
        ),
        _Step(statement=f"SHOW INDEXES FROM {table}", rows=[{"name": "by_mail"}]),
    ]


def _errors(table: str) -> list[_Step]:
    statements = (
        (f"CREATE INDEX by_mail ON {table} USING lakesieve (id)", "index-exists"),
        (f"CREATE INDEX other ON {table} USING lakesieve (nothing)", "column-not-found"),
        (f"CREATE INDEX other ON {table} USING lakesieve (rand())", "unsupported-type"),
        (f"CREATE INDEX o ON {table} USING lakesieve (id) OPTIONS (size = 1)", "invalid-argument"),
        (f"CREATE INDEX other ON {table} USING lakesieve id", "invalid-argument"),
        (f"DROP INDEX by_id ON {table}", "index-not-found"),
        (f"REFRESH INDEX by_id ON {table}", "index-not-found"),
        (f"SHOW INDEXES {table}", "invalid-argument"),
        (f"SHOW INDEXES ON {table}_gone", "table-not-found"),
    )
    return [_Step(statement=statement, error=code) for statement, code in statements]
