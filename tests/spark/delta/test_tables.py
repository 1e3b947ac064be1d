"""Features of Delta Lake only: clones, absolute paths, checkpoints, restored tables."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import lakesieve as ls
from lakesieve.errors import ErrorKind, LakesieveError, NotFoundError, UnsupportedError
from lakesieve.tables.struct_schema import delta_columns

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

_NUMBERS = itertools.count()


def _make(spark: SparkSession, folder: Path, *, properties: str = "", files: int = 8) -> str:
    """A table of scattered keys in a folder; its name in the catalog."""
    name = f"spark_catalog.default.delta_{next(_NUMBERS)}"
    text = f"TBLPROPERTIES ({properties})" if properties else ""
    spark.sql(f"CREATE TABLE {name} (k BIGINT, v BIGINT) USING delta LOCATION '{folder}' {text}")
    _append(spark, folder, files=files)
    return name


def _append(spark: SparkSession, folder: Path, *, first: int = 0, files: int = 8) -> None:
    rows = spark.range(first, first + 800, 1, files)
    keys = rows.selectExpr("(id * 7919) % 1009 AS k", "id AS v")
    keys.write.format("delta").mode("append").save(str(folder))


# the contract reads older versions with deletion vectors
@pytest.mark.soak
def test_deletion_vectors_and_older_versions(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """An index that was made after a delete still finds the rows in older versions."""
    folder = tmp_path / "t"
    name = _make(spark, folder, properties="'delta.enableDeletionVectors'='true'")
    spark.sql(f"DELETE FROM {name} WHERE k = 397")
    ls.create_index(name, ["k"], spark=spark)

    for version, rows in ((1, 1), (2, 0)):
        _, read = both(f"SELECT * FROM {name} VERSION AS OF {version} WHERE k = 397")
        assert read == 1
        by_path = f"SELECT * FROM delta.`{folder}@v{version}` WHERE k = 397"
        assert both(by_path)[1] == 1
        assert spark.sql(by_path).count() == rows
    history = spark.sql(f"DESCRIBE HISTORY {name}").where("version = 1")
    when = history.selectExpr(
        "date_format(timestamp, \"yyyy-MM-dd'T'HH:mm:ss.SSSXXX\") AS written"
    ).head(1)[0]["written"]
    found = ls.find_files(f"delta:{folder}", "k = 397", spark=spark, version=1)
    assert (found.version, len(found.paths)) == ("1", 1)
    assert ls.find_files(name, "k = 397", spark=spark, version=when).version == "1"
    # in SQL, Delta reads times in the zone of the JVM and not of the session
    old = spark.read.format("delta").option("timestampAsOf", when).load(str(folder))
    old.createOrReplaceTempView("old_delta")
    assert both("SELECT * FROM old_delta WHERE k = 397")[1] == 1
    for unknown in ("77", "1999-01-01", "main"):
        with pytest.raises(NotFoundError) as caught:
            ls.find_files(name, "k = 397", spark=spark, version=unknown)
        assert caught.value.kind is ErrorKind.VERSION_NOT_FOUND


# clones of Iceberg tables go the same way to their index
@pytest.mark.soak
def test_shallow_clones(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """A clone, whose log names the files of another table, can clone its index."""
    name = _make(spark, tmp_path / "a b%25+ü")
    ls.create_index(name, ["k"], spark=spark)
    clone = f"spark_catalog.default.clone_{next(_NUMBERS)}"
    spark.sql(f"CREATE TABLE {clone} SHALLOW CLONE {name} LOCATION '{tmp_path / 'c %20d'}'")

    total, read = both(f"SELECT * FROM {clone} WHERE k = 397")
    assert (total, read) == (8, 8)
    result = ls.open_index(name, "k", spark=spark).clone(clone)
    assert (result.files, result.shared) == (8, 8)
    index = ls.open_index(clone, "k", spark=spark)
    assert both(f"SELECT * FROM {clone} WHERE k = 397") == (8, 1)
    _append(spark, tmp_path / "c %20d", first=800, files=2)
    _, read = both(f"SELECT * FROM {clone} WHERE k = 397")

    assert read <= 3
    assert index.files("k = 397").uncovered == 2
    assert index.refresh().files == 2
    assert index.verify_rows(files=None).wrong == ()
    with pytest.raises(UnsupportedError, match="lakesieve does not copy") as caught:
        ls.clone_table(name, "spark_catalog.default.copy", spark=spark)
    assert "SHALLOW CLONE" in caught.value.hint


# compaction of an index is tested on Iceberg
@pytest.mark.soak
def test_compaction_keeps_what_older_versions_hold(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """A compacted index serves all versions that can be read, until they are cleaned up."""
    name = _make(spark, tmp_path / "t")
    index = ls.create_index(name, ["k", "v"], spark=spark, compaction="auto")
    spark.sql(f"DELETE FROM {name} WHERE k = 397")
    assert index.refresh().compacted
    assert index.compact().files == 9
    for version, rows in ((1, 1), (2, 0)):
        old = f"{name} VERSION AS OF {version}"
        assert both(f"SELECT * FROM {old} WHERE k = 397")[1] == rows
    assert index.verify_rows(files=None).wrong == ()


# drawn logs have checkpoints of every form
@pytest.mark.soak
def test_checkpoints(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """A log with a checkpoint gives the same table as one without."""
    name = _make(spark, tmp_path / "t", properties="'delta.checkpointInterval'='2'")
    for number in range(3):
        _append(spark, tmp_path / "t", first=800 * number, files=2)
    assert list((tmp_path / "t" / "_delta_log").glob("*.checkpoint*"))
    ls.create_index(name, ["k"], spark=spark)

    total, read = both(f"SELECT * FROM {name} WHERE k = 397")

    assert (total, read < total) == (14, True)


def test_restored_and_replaced_tables(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """After RESTORE the index is used; a replaced table is a new one until it is restored."""
    name = _make(spark, tmp_path / "t")
    ls.create_index(name, ["k"], spark=spark)
    spark.sql(f"DELETE FROM {name} WHERE v < 400")
    spark.sql(f"RESTORE TABLE {name} TO VERSION AS OF 1")
    assert both(f"SELECT * FROM {name} WHERE k = 397")[1] == 1

    spark.sql(f"CREATE OR REPLACE TABLE {name} USING delta AS SELECT v AS k, k AS v FROM {name}")
    total, read = both(f"SELECT * FROM {name} WHERE k = 397")
    assert read == total
    both(f"SELECT * FROM {name} VERSION AS OF 1 WHERE k = 397")


# what Delta does, not lakesieve
@pytest.mark.soak
def test_vacuum_leaves_the_index_alone(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """Delta's VACUUM does not touch the index."""
    name = _make(spark, tmp_path / "t")
    ls.create_index(name, ["k"], spark=spark)
    index = {path for path in (tmp_path / "t" / "_lakesieve").rglob("*") if path.is_file()}
    (tmp_path / "t" / "stray.parquet").write_bytes(b"x")
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.sql(f"VACUUM {name} RETAIN 0 HOURS")
    spark.conf.unset("spark.databricks.delta.retentionDurationCheck.enabled")

    assert not (tmp_path / "t" / "stray.parquet").exists()
    assert index
    assert all(path.exists() for path in index)
    assert both(f"SELECT * FROM {name} WHERE k = 397")[1] == 1


@pytest.mark.soak
def test_column_mapping_put_on_an_old_table(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """Columns that swap their names under column mapping keep their own indexes."""
    name = _make(spark, tmp_path / "t")
    ls.create_indexes(name, [["k"], ["v"]], spark=spark)
    spark.sql(
        f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.columnMapping.mode'='name', "
        "'delta.minReaderVersion'='2', 'delta.minWriterVersion'='5')"
    )
    for old, new in (("k", "x"), ("v", "k"), ("x", "v")):
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN {old} TO {new}")

    for condition in ("k = 397", "v = 397", "k = 397 AND v = 204", "v BETWEEN 3 AND 5"):
        both(f"SELECT * FROM {name} WHERE {condition}")
        both(f"SELECT * FROM {name} VERSION AS OF 1 WHERE {condition}")
    assert both(f"SELECT * FROM {name} WHERE v = 397")[1] == 1


# promotion is tested on Iceberg
@pytest.mark.soak
def test_widened_types(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """An index serves a column that was widened within its kind, and not beyond."""
    name = f"spark_catalog.default.delta_{next(_NUMBERS)}"
    spark.sql(
        f"CREATE TABLE {name} (a INT, f FLOAT, b INT) USING delta LOCATION '{tmp_path / 't'}' "
        "TBLPROPERTIES ('delta.enableTypeWidening'='true')"
    )
    rows = spark.range(0, 400, 1, 4).selectExpr(
        "CAST((id * 79) % 401 AS INT) AS a", "CAST(id / 10 AS FLOAT) AS f", "CAST(id AS INT) AS b"
    )
    rows.write.format("delta").mode("append").save(str(tmp_path / "t"))
    ls.create_indexes(name, [["a"], ["f"], ["b"]], spark=spark)
    for column, kind in (("a", "BIGINT"), ("f", "DOUBLE"), ("b", "DOUBLE")):
        spark.sql(f"ALTER TABLE {name} ALTER COLUMN {column} TYPE {kind}")

    assert both(f"SELECT * FROM {name} WHERE a = 77")[1] == 1
    both(f"SELECT * FROM {name} WHERE f = CAST(0.3 AS FLOAT)")
    both(f"SELECT * FROM {name} WHERE b = 7")
    ls.enable(spark)
    spark.sql(f"SELECT * FROM {name} WHERE b = 7").collect()
    ls.disable(spark)
    assert "type-changed" in {str(r.code) for p in ls.last_pruning(spark) for r in p.reasons}


def test_an_unknown_feature_is_left_alone(spark: SparkSession, tmp_path: Path) -> None:
    """A table with an unknown reader feature is not indexed, with a coded error."""
    name = _make(spark, tmp_path / "t", files=1)
    ls.create_index(name, ["k"], spark=spark)
    document = {"reader": 3, "features": ["deletionVectors", "timeCrystals"], "mapping": "none"}
    with pytest.raises(LakesieveError, match="timeCrystals") as caught:
        delta_columns(json.dumps(document))

    assert caught.value.kind is ErrorKind.UNSUPPORTED_TABLE
    with pytest.raises(LakesieveError, match="reader version 4"):
        delta_columns(json.dumps({"reader": 4, "features": [], "mapping": "none"}))


def test_a_table_of_shredded_variants_is_indexed(spark: SparkSession, tmp_path: Path) -> None:
    """Shredded variants do not affect indexes on other columns."""
    name = f"spark_catalog.default.delta_{next(_NUMBERS)}"
    feature = "'delta.feature.variantShredding-preview'='supported'"
    spark.sql(
        f"CREATE TABLE {name} (k BIGINT) USING delta LOCATION '{tmp_path / 't'}' "
        f"TBLPROPERTIES ({feature})"
    )
    spark.sql(f"INSERT INTO {name} VALUES (1)")
    ls.create_index(name, ["k"], spark=spark)

    assert len(ls.find_files(name, "k = 1", spark=spark).paths) == 1
    assert len(ls.find_files(name, "k = 2", spark=spark).paths) == 0


def test_an_unknown_feature_leaves_the_scan_whole(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scan of a table with an unknown feature reads every file, and the report says why."""
    known = "'delta.enableDeletionVectors'='true'"
    name = _make(spark, tmp_path / "t", properties=known)
    ls.create_index(name, ["k"], spark=spark)
    monkeypatch.setattr("lakesieve.tables.struct_schema.DELTA_FEATURES", frozenset())
    ls.enable(spark)
    assert spark.sql(f"SELECT * FROM {name} WHERE k = 397").count() == 1
    ls.disable(spark)

    (pruned,) = ls.last_pruning(spark)
    assert pruned.files_read == pruned.files_total == 8
    assert [str(reason.code) for reason in pruned.reasons] == ["scan-unsupported"]


def test_files_without_statistics(
    spark: SparkSession, tmp_path: Path, both: Callable[[str], tuple[int, int]]
) -> None:
    """If the log does not have the row counts of files, the rows are counted."""
    spark.conf.set("spark.databricks.delta.stats.collect", "false")
    try:
        name = _make(spark, tmp_path / "t")
    finally:
        spark.conf.unset("spark.databricks.delta.stats.collect")
    index = ls.create_index(name, ["k"], spark=spark)

    assert index.info().rows == 800
    assert both(f"SELECT * FROM {name} WHERE k = 397")[1] == 1


@pytest.mark.soak
def test_a_session_of_delta_alone(tmp_path: Path) -> None:
    """Without Iceberg's jars, an index is built and used, even in pandas-on-Spark."""
    script = Path(__file__).with_name("alone.py")
    run = subprocess.run(
        [sys.executable, str(script), str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert run.returncode == 0, run.stderr
    assert run.stdout.endswith("1 of 4 files\n"), run.stdout
