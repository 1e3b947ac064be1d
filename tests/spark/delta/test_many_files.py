"""Point queries of a Delta table with very many files, of which only the log exists."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from bench.scale.delta_files import make_delta

import lakesieve as ls

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

FILES = 20_100
_NUMBERS = itertools.count()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table, of more files than are listed in one job."""
    folder: Path = tmp_path_factory.mktemp("many") / "t"
    make_delta(folder, FILES)
    return folder


def _planned(spark: SparkSession, folder: Path, key: int) -> tuple[set[str], int]:
    """Names of the files that a point query would read, and the jobs that its plan took."""
    context = spark.sparkContext
    group = f"many-{next(_NUMBERS)}"
    context.setJobGroup(group, "planning")
    try:
        frame = spark.sql(f"SELECT * FROM delta.`{folder}` WHERE k = {key}")
        plan: Any = frame._jdf.queryExecution().executedPlan()
        partitions = plan.execute().partitions()
        names = {
            str(file.filePath()).rpartition("/")[2]
            for number in range(len(partitions))
            for file in partitions[number].files()
        }
    finally:
        context._jsc.clearJobGroup()
    return names, len(context.statusTracker().getJobIdsForGroup(group))


def _found(folder: Path, key: int) -> set[str]:
    """The same without Spark."""
    found = ls.find_files(f"delta:{folder}", f"k = {key}")
    return {path.rpartition("/")[2] for path in found.paths}


# test_listing plans a few files in the same way
@pytest.mark.soak
def test_only_the_files_of_the_index_are_planned(spark: SparkSession, folder: Path) -> None:
    """From the third query on no job runs, and added and removed files are noticed."""
    ls.enable(spark)
    try:
        jobs = []
        for key in (5, 77, 4_000, 401_999, 402_001):
            names, ran = _planned(spark, folder, key)
            jobs.append(ran)
            assert names == _found(folder, key)
            (pruned,) = ls.last_pruning(spark)
            assert (pruned.files_total, pruned.files_read) == (FILES, len(names))
        assert jobs[1] > 1
        assert jobs[2:] == [0, 0, 0]

        (gone,) = _found(folder, 77)
        log = sorted((folder / "_delta_log").glob("*.json"))
        added = {
            "path": "new.parquet",
            "partitionValues": {},
            "size": 5,
            "modificationTime": 0,
            "dataChange": True,
        }
        actions: list[dict[str, Any]] = [
            {"remove": {"path": gone, "dataChange": True, "deletionTimestamp": 0}},
            {"add": added},
        ]
        after = log[-1].with_name(f"{len(log):020d}.json")
        after.write_text("".join(json.dumps(action) + "\n" for action in actions))
        for key in (77, 77, 5, 77):
            names, ran = _planned(spark, folder, key)
            assert names == _found(folder, key)
            assert "new.parquet" in names
            assert gone not in names
            jobs.append(ran)
        assert jobs[-3:] == [0, 0, 0]
    finally:
        ls.disable(spark)


def test_readers_that_come_before_the_choice_see_all_files(
    spark: SparkSession, folder: Path
) -> None:
    """If no index leaves few files, Delta plans the condition over all files."""
    ls.enable(spark)
    try:
        for key in (5, 77, 4_000):
            _planned(spark, folder, key)
        frame = spark.sql(f"SELECT * FROM delta.`{folder}` WHERE k >= 0")
        plan: Any = frame._jdf.queryExecution().optimizedPlan()
        scan = plan.collectLeaves().apply(0).relation().location()
        assert len(scan.inputFiles()) == len(_found_all(folder))
    finally:
        ls.disable(spark)


def _found_all(folder: Path) -> list[str]:
    return ls.find_files(f"delta:{folder}", "k >= 0").paths
