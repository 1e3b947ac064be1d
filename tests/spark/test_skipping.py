"""Spark skips files: for every format, type of key and form of condition, join and command."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.depth import is_soak
from tests.spark.drivers import DRIVERS, OpenDriver
from tests.spark.skipping import KEPT_BY_SPARK, NAMES, checked, frame_of, value

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

# of formats whose scans alone differ; Iceberg has all forms and columns
_FEWER_FORMS = ("in", "null", "join")
_FEWER_NAMES = ("small", "large", "text", "moment", "real")
# no row is changed, so that the table stays the same for every key; minima do not tell that
_COMMANDS = {
    "delete": "DELETE FROM {t} WHERE {k} = {25} AND small % 7 = 9",
    "update": "UPDATE {t} SET flag = true WHERE {k} = {25} AND small % 7 = 9",
    "merge": "MERGE INTO {t} t USING (SELECT {25} AS v) q ON t.{k} = q.v "
    "WHEN MATCHED AND t.small % 7 = 9 THEN DELETE",
    "merge two": "MERGE INTO {t} t USING (SELECT * FROM VALUES ({22}), ({25}) AS s(v)) q "
    "ON t.{k} = q.v WHEN MATCHED AND t.small % 7 = 9 THEN UPDATE SET flag = true",
}


@pytest.fixture(scope="module", params=["iceberg", "delta", "parquet"])
def driver(
    request: pytest.FixtureRequest, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[OpenDriver]:
    """A table of a format with an index on each column, and skipping on."""
    ls.disable(spark)
    folder = tmp_path_factory.mktemp("skipping") / request.param
    made = DRIVERS[request.param](spark, folder, f"skipping_{request.param}")
    rows = frame_of(spark)
    made.create(rows)
    made.append(rows)
    ls.create_indexes(made.name, [[name] for name in _names(made)], spark=spark)
    ls.enable(spark)
    yield made
    ls.disable(spark)


def _is_iceberg(driver: OpenDriver) -> bool:
    return driver.relation().startswith("lake")


def _names(driver: OpenDriver) -> tuple[str, ...]:
    return NAMES if is_soak() or _is_iceberg(driver) else _FEWER_NAMES


def test_queries(spark: SparkSession, driver: OpenDriver) -> None:
    """Each condition on each column, and each join by it, opens only the files of its rows."""
    forms = None if is_soak() or _is_iceberg(driver) else _FEWER_FORMS
    assert checked(spark, driver.relation(), _names(driver), forms=forms) == {}


# of the commands on Delta, every build runs MERGE, which has a join
@pytest.mark.in_time(
    "iceberg-delete", "iceberg-update", "iceberg-merge", "iceberg-merge two", "delta-merge"
)
@pytest.mark.parametrize("command", _COMMANDS)
def test_commands(spark: SparkSession, driver: OpenDriver, command: str) -> None:
    """DELETE, UPDATE and MERGE search only files with their rows."""
    if driver.relation().startswith("parquet"):
        pytest.skip("directories of Parquet files know no commands")
    wrong = {}
    names = _names(driver) if is_soak() or _is_iceberg(driver) else ("large", "text")
    for name in names:
        if name in {"flag", "small"}:
            # Spark finds that their condition and that on the other column are never both true
            continue
        text = _COMMANDS[command].replace("{t}", driver.relation()).replace("{k}", name)
        for number in (22, 25):
            text = text.replace(f"{{{number}}}", value(name, number))
        # Iceberg's commands are planned as a whole, Delta's run queries of their own
        spark.sql(f"EXPLAIN {text}" if _is_iceberg(driver) else text)
        read = [scan.files_read for scan in ls.last_pruning(spark)]
        most = 2 if command == "merge two" else 1
        if not read or (max(read) > most and (command, name) not in KEPT_BY_SPARK):
            wrong[name] = read
    assert wrong == {}


def test_parquet_through_the_connector(spark: SparkSession, tmp_path: Path) -> None:
    """Reads through Spark's connector API are not pruned, and the report says so."""
    spark.range(0, 40, 1, 4).toDF("k").write.parquet(f"{tmp_path}/t")
    ls.create_index(f"parquet:{tmp_path}/t", ["k"], spark=spark)
    listed = spark.conf.get("spark.sql.sources.useV1SourceList")
    ls.enable(spark)
    spark.conf.set("spark.sql.sources.useV1SourceList", "")
    try:
        rows = spark.read.parquet(f"{tmp_path}/t").where("k = 7").collect()
        (pruned,) = ls.last_pruning(spark)
    finally:
        spark.conf.set("spark.sql.sources.useV1SourceList", str(listed))
        ls.disable(spark)

    assert [row.k for row in rows] == [7]
    assert pruned.files_read == pruned.files_total == 4
    assert [reason.code for reason in pruned.reasons] == ["scan-unsupported"]
    assert "useV1SourceList" in pruned.reasons[0].detail
