"""The versions of Spark: what each one has."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pyspark
import pytest
from tests.kit.reports import internal_errors
from tests.spark.deletes.kit import EqualityDeletes
from tests.spark.own_jars import check_adapters
from tests.spark.settings import NEWEST
from tests.spark.untested import OtherVersion

import lakesieve as ls
from lakesieve.errors import UnsupportedError
from lakesieve.spark.tables import FORMATS
from lakesieve.spark.versions.spark_versions import (
    SPARK_VERSIONS,
    SparkVersion,
    by_number,
    frame_of,
    spark_version_of,
)

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession


@pytest.mark.parametrize("version", ["2.4.8", "3.4.4", "3.10.0", "unknown"], ids=str)
def test_older_versions_are_refused(version: str) -> None:
    """An untested older version is refused, with the tested versions."""
    with pytest.raises(UnsupportedError, match=r"Use Spark 4\.3 or 4\.2 or 4\.1 or 4\.0 or 3\.5"):
        spark_version_of(version)


@pytest.mark.parametrize("version", ["4.4.0", "4.10.0", "5.0.0", "5.1.0-SNAPSHOT"], ids=str)
def test_newer_versions_are_tried(version: str) -> None:
    """A newer version gets the newest jar, and is known as not tested."""
    line = ".".join(version.split(".")[:2])

    assert spark_version_of(version) == SparkVersion(name=line, jar="4.1", is_tested=False)


@pytest.mark.skipif(not NEWEST, reason="the newest jar is for newer versions")
def test_a_version_that_nobody_tested(spark: SparkSession, tmp_path: Path) -> None:
    """A session of an unknown version is checked and skips files if nothing is missing."""
    folder = f"{tmp_path}/t"
    spark.range(0, 400, 1, 4).selectExpr("id * 319 % 400 AS k").write.parquet(folder)
    ls.create_index(f"parquet:{folder}", ["k"], spark=spark)
    unknown: Any = OtherVersion(spark, "9.9.0")

    ls.enable(unknown)
    rows = spark.read.parquet(folder).where("k = 250").collect()
    (scan,) = ls.last_pruning(unknown)
    ls.disable(unknown)

    assert [row.k for row in rows] == [250]
    assert (scan.files_read, scan.files_total) == (1, 4)


@pytest.mark.skipif(spark_version_of(pyspark.__version__).name != "3.5", reason="the jar fits")
def test_a_version_without_some_classes(tmp_path: Path) -> None:
    """If Spark lacks a class that the newest jar needs, all files are read, with a reason."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.untested", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout.splitlines()[-1])

    assert found["rows"] == [250]
    missing = "Spark 9.9.0 was not tested with lakesieve, and this version of Spark lacks "
    assert found["reasons"][0].startswith("spark-unsuited: ")
    assert missing in found["reasons"][0]
    # the first of the missing members are named
    assert "org.apache.spark.sql.catalyst.plans." in found["reasons"][0]
    assert found["logged"][0].startswith(f"Queries read all files: {missing}")
    assert found["error"].startswith(missing)


def test_formats_without_a_runtime_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    """A format that has no runtime for this version is refused by name, wherever it is named."""
    line = spark_version_of(pyspark.__version__)
    for name in (name for name, spec in FORMATS.items() if not spec.runs_on(line.name)):
        others = (other.name for other in SPARK_VERSIONS)
        other = next(other for other in others if FORMATS[name].runs_on(other))
        with pytest.raises(UnsupportedError, match=f"Use Spark {other}"):
            ls.local_session(tmp_path, formats=[name])
        with pytest.raises(UnsupportedError, match=f"Use Spark {other}"):
            ls.list_indexes(f"{name}:{tmp_path}", spark=spark)


def test_adapters_find_their_private_members(spark: SparkSession) -> None:
    """The libraries of this version have all private members that the adapters use."""
    version = spark_version_of(pyspark.__version__).name
    readable = {name for name, spec in FORMATS.items() if spec.runs_on(version)}

    # Hudi has a session of its own
    assert check_adapters(spark) == readable - {"hudi"}


@pytest.mark.skipif(
    not FORMATS["iceberg"].runs_on(spark_version_of(pyspark.__version__).name),
    reason="Iceberg has no runtime for this version",
)
def test_equality_deletes_are_left_to_iceberg(spark: SparkSession, table: str) -> None:
    """A version of Spark without joins of equality deletes reads them with Iceberg's reader."""
    spark.sql(f"CREATE TABLE {table} (k BIGINT) USING iceberg TBLPROPERTIES ('format-version'='2')")
    spark.sql(f"INSERT INTO {table} VALUES (1), (2)")
    EqualityDeletes(spark, table).delete(["k"], [[1]])
    ls.create_index(table, ["k"], spark=spark)
    spark.conf.set("spark.lakesieve.deletes.memory", "1b")
    ls.enable(spark)
    rows = spark.sql(f"SELECT * FROM {table} WHERE k < 5").collect()
    spark.conf.unset("spark.lakesieve.deletes.memory")

    assert [row.k for row in rows] == [2]
    assert internal_errors(ls.last_pruning(spark)) == []


def test_numbered_rows_get_partitions_of_their_own(spark: SparkSession) -> None:
    """Each number has a partition without other numbers."""
    from pyspark.sql import functions as F

    rows = spark.range(0, 500, 1, 3).selectExpr("CAST(id % 7 AS INT) AS n", "id")
    placed = by_number(rows, 7, "n").withColumn("place", F.spark_partition_id())

    pairs = placed.select("n", "place").distinct().collect()

    assert len(pairs) == len({p.n for p in pairs}) == len({p.place for p in pairs}) == 7


@pytest.mark.parametrize("texts", [[], ["a"], [""], ["b", "", "ä 'x' \\n %\n\r", "a"]], ids=repr)
def test_texts_keep_their_order(spark: SparkSession, texts: list[str]) -> None:
    """A frame of texts keeps these texts in order, however many parts are sent."""
    import pyarrow as pa

    columns = pa.table({"t": pa.array(texts, pa.string()), "u": pa.array(texts[::-1], pa.string())})
    frame = frame_of(spark, columns, at_once=3)

    assert [(row.t, row.u) for row in frame.collect()] == list(zip(texts, texts[::-1], strict=True))
