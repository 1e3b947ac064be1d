"""Stale, damaged and foreign indexes change speed, but never results."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

import lakesieve as ls
from lakesieve.errors import LakesieveError
from lakesieve.spark.tables.catalogs import named_errors
from lakesieve.spark.versions.java_classes import java_array, java_class

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession


def _make(spark: SparkSession, table: str, files: int = 8) -> ls.Index:
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, v STRING) USING iceberg "
        "TBLPROPERTIES ('write.distribution-mode'='none')"
    )
    rows = spark.range(0, 800, 1, files).selectExpr("(id * 7919) % 1009 AS k", "uuid() AS v")
    rows.writeTo(table).append()
    return ls.create_index(table, ["k"], spark=spark)


def _codes(spark: SparkSession) -> set[str]:
    return {str(r.code) for p in ls.last_pruning(spark) for r in p.reasons}


def test_appended_files_are_read(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """Files that were added after the build are read, and the report says how many."""
    _make(spark, table)
    spark.sql(f"INSERT INTO {table} VALUES (7919, 'new'), (-1, 'new')")

    total, read = both(f"SELECT * FROM {table} WHERE k = 7919 % 1009 OR k = -1")

    assert (total, read) == (9, 2)
    (pruned,) = ls.last_pruning(spark)
    assert pruned.uncovered == 1
    assert {str(r.code) for r in pruned.reasons} == {"index-used", "uncovered-files"}


def _truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    for at in range(0, len(data), max(1, len(data) // 40)):
        data[at] ^= 0x40
    path.write_bytes(bytes(data))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _remove(path: Path) -> None:
    path.unlink()


def _too_new(path: Path) -> None:
    document = json.loads(path.read_bytes())
    text = json.dumps(document)
    for number in range(1, 4):
        text = text.replace(f'"format_version": {number}', '"format_version": 999')
    path.write_text(text)


# each part and each harm, not their cross
@pytest.mark.in_time(
    "segments-_truncate",
    "segments-_flip",
    "files-_flip",
    "files-_remove",
    "log-_empty",
    "log-_remove",
)
@pytest.mark.parametrize("harm", [_truncate, _flip, _empty, _remove])
@pytest.mark.parametrize("part", ["segments", "files", "log"])
def test_broken_files_are_named_and_harmless(
    spark: SparkSession,
    table: str,
    both: Callable[[str], tuple[int, int]],
    index_folder: Callable[[ls.Index], Path],
    *,
    part: str,
    harm: Callable[[Path], None],
) -> None:
    """A damaged index file leaves the results unchanged and is named in the report."""
    index = _make(spark, table)
    query = f"SELECT * FROM {table} WHERE k IN (5, 300, 1008)"
    total, read = both(query)
    assert read < total
    for victim in (index_folder(index) / part).iterdir():
        harm(victim)

    total, read = both(query)

    assert read == total
    named = [r for p in ls.last_pruning(spark) for r in p.reasons]
    assert {str(r.code) for r in named} <= {
        "index-corrupt",
        "index-missing-file",
        "index-unreadable",
    }
    assert any("k" in r.detail and part in r.detail for r in named)


@pytest.mark.parametrize("part", ["segments", "files", "log"])
def test_harm_during_a_session_is_named(
    spark: SparkSession,
    table: str,
    index_folder: Callable[[ls.Index], Path],
    part: str,
) -> None:
    """A file that is damaged during a session is noticed by the next query."""
    index = _make(spark, table)
    ls.enable(spark)
    assert spark.sql(f"SELECT * FROM {table} WHERE k = 5").count() == 1
    assert _codes(spark) == {"index-used"}
    for victim in (index_folder(index) / part).iterdir():
        _flip(victim)

    assert spark.sql(f"SELECT * FROM {table} WHERE k = 5").count() == 1

    assert _codes(spark) == {"index-corrupt"}


def test_a_too_new_index_is_left_alone(
    spark: SparkSession,
    table: str,
    both: Callable[[str], tuple[int, int]],
    index_folder: Callable[[ls.Index], Path],
) -> None:
    """A log of a newer version is not used."""
    index = _make(spark, table)
    for entry in (index_folder(index) / "log").iterdir():
        _too_new(entry)

    total, read = both(f"SELECT * FROM {table} WHERE k = 5")

    assert read == total
    assert _codes(spark) == {"index-too-new"}


def test_a_recreated_table_is_not_fooled(
    spark: SparkSession, table: str, both: Callable[[str], tuple[int, int]]
) -> None:
    """An index of a dropped table is not used for its successor."""
    _make(spark, table)
    spark.sql(f"DROP TABLE {table}")  # without PURGE a catalog may leave files behind
    spark.sql(f"CREATE TABLE {table} (k BIGINT, v STRING) USING iceberg")
    spark.sql(f"INSERT INTO {table} VALUES (5, 'other'), (6, 'other')")

    total, read = both(f"SELECT * FROM {table} WHERE k = 5")

    assert read == total
    assert _codes(spark) <= {"other-table", "no-index"}


def test_an_exception_in_python_leaves_the_scan_open(
    spark: SparkSession, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If planning fails, the query still runs, and the report says so."""
    _make(spark, table)
    ls.enable(spark)

    def explode(*_: object, **__: object) -> None:
        raise RuntimeError("boom")

    monkeypatch.setattr("lakesieve.planner.planner.plan", explode)
    count = spark.sql(f"SELECT * FROM {table} WHERE k = 5").count()

    assert count == 1
    (pruned,) = ls.last_pruning(spark)
    assert [str(r.code) for r in pruned.reasons] == ["internal-error"]
    assert "boom" in pruned.reasons[0].detail


def test_a_cause_behind_reflection_is_shown(spark: SparkSession) -> None:
    """An error behind reflection is shown instead of the error of the call."""
    classes: Any = java_class(spark, "java.lang.Class")
    text = classes.forName("java.lang.String")
    parse = classes.forName("java.lang.Integer").getMethod(
        "parseInt", java_array(spark, "java.lang.Class", (text,))
    )
    with pytest.raises(LakesieveError, match="For input string"), named_errors("lake.t.x"):
        parse.invoke(None, java_array(spark, "java.lang.Object", ("no number",)))
