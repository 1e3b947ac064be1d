"""One script of SQL statements about indexes for every kind of session, with its results."""

from __future__ import annotations

from typing import Any

import pyspark
import pytest

from lakesieve.spark.tables import FORMATS
from lakesieve.spark.versions.spark_versions import spark_version_of

__all__ = ["check_statements", "rows_of"]

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
    has_iceberg = FORMATS["iceberg"].runs_on(spark_version_of(pyspark.__version__).name)
    database, form = ("lake.t", "iceberg") if has_iceberg else ("t", "delta")
    table = f"{database}.{name}"
    session.sql(f"CREATE DATABASE IF NOT EXISTS {database}").collect()
    session.sql(f"CREATE TABLE {table} (id BIGINT, email STRING) USING {form}").collect()
    _insert(session, table, 0, 20)
    _insert(session, table, 20, 40)
    try:
        _check_creation(session, table)
        if not is_short:
            _check_upkeep(session, table)
            _check_errors(session, table)
    finally:
        session.sql(f"DROP TABLE {table}").collect()


def _insert(session: Any, table: str, first: int, end: int) -> None:
    rows = f"SELECT id, concat('A', id) FROM range({first}, {end}, 1, 1)"
    session.sql(f"INSERT INTO {table} {rows}").collect()


def _check_creation(session: Any, table: str) -> None:
    made = {**_MADE, "table": table}
    how = "OPTIONS (compaction = 0, rows_per_block = 'none')"
    statement = f"INDEX by_id ON TABLE {table} USING lakesieve (id) {how}"
    assert rows_of(session, f"CREATE {statement};") == [made]
    lenient = statement.replace("INDEX", "INDEX IF NOT EXISTS")
    assert rows_of(session, f"create {lenient}") == [made]
    expression = f"INDEX by_mail ON {table} USING lakesieve (lower(email))"
    (by_mail,) = rows_of(session, f"/* an expression */ CREATE {expression}")
    assert by_mail["columns"] == ["lower(email)"]
    assert [row["name"] for row in rows_of(session, f"SHOW INDEXES ON {table}")] == [
        "by_id",
        "by_mail",
    ]
    found = rows_of(session, f"SELECT id FROM {table} WHERE lower(email) = 'a5'")
    assert found == [{"id": 5}]


def _check_upkeep(session: Any, table: str) -> None:
    _insert(session, table, 40, 50)
    stale, _ = rows_of(session, f"SHOW INDEXES IN {table}")
    assert (stale["covered_files"], stale["live_files"]) == (2, 3)
    (refreshed,) = rows_of(session, f"REFRESH INDEX by_id ON {table}")
    assert (refreshed["index"], refreshed["files"], refreshed["rows"]) == ("by_id", 1, 10)
    mail = rows_of(session, f"REFRESH INDEXES ON {table}")
    assert [(row["index"], row["files"]) for row in mail] == [("by_id", 0), ("by_mail", 1)]
    described = {
        row["property"]: row["value"] for row in rows_of(session, f"DESC INDEX by_id ON {table}")
    }
    assert described["covered_files"] == "3"
    assert described["columns"] == "id"
    (compacted,) = rows_of(session, f"ALTER INDEX by_id ON {table} COMPACT")
    assert compacted["files"] == 3
    dropped = {"index": "by_id", "table": table, "dropped": True}
    assert rows_of(session, f"DROP INDEX by_id ON {table}") == [dropped]
    again = rows_of(session, f"DROP INDEX IF EXISTS by_id ON {table}")
    assert again == [{**dropped, "dropped": False}]
    assert [row["name"] for row in rows_of(session, f"SHOW INDEXES FROM {table}")] == ["by_mail"]


def _check_errors(session: Any, table: str) -> None:
    for statement, code in (
        (f"CREATE INDEX by_mail ON {table} USING lakesieve (id)", "index-exists"),
        (f"CREATE INDEX other ON {table} USING lakesieve (nothing)", "column-not-found"),
        (f"CREATE INDEX other ON {table} USING lakesieve (rand())", "unsupported-type"),
        (f"CREATE INDEX o ON {table} USING lakesieve (id) OPTIONS (size = 1)", "invalid-argument"),
        (f"CREATE INDEX other ON {table} USING lakesieve id", "invalid-argument"),
        (f"DROP INDEX by_id ON {table}", "index-not-found"),
        (f"REFRESH INDEX by_id ON {table}", "index-not-found"),
        (f"SHOW INDEXES {table}", "invalid-argument"),
        (f"SHOW INDEXES ON {table}_gone", "table-not-found"),
    ):
        with pytest.raises(Exception, match=rf"\[{code}\]"):
            session.sql(statement).collect()
