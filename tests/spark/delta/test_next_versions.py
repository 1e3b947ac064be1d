"""The files of a Delta version follow from an earlier version and the commits in between."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
from typing import TYPE_CHECKING, Any

import pytest
from tests.depth import depth
from tests.spark.file_sets import SECRET

from lakesieve.spark.versions.jar import own_class

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

FILES = 300
STEPS = depth("COMMITS", test=3, soak=80)
_NUMBERS = itertools.count()
COMMANDS = (
    "DELETE FROM {t} WHERE k % 97 = {n}",
    "DELETE FROM {t} WHERE v BETWEEN 30 * {n} AND 30 * {n} + 200",
    "UPDATE {t} SET k = k + 1 WHERE v % 211 = {n}",
    """MERGE INTO {t} USING (SELECT {n} AS k) s ON {t}.k = s.k
    WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (k, v, p) VALUES (s.k, -1, 0)""",
    "INSERT INTO {t} SELECT id, id, id % 3 FROM range({n}, {n} + 40)",
    "INSERT OVERWRITE {t} SELECT id, id, id % 3 FROM range({n}, {n} + 400)",
    "OPTIMIZE {t} WHERE p = 1",
    "RESTORE TABLE {t} TO VERSION AS OF {old}",
    "ALTER TABLE {t} SET TBLPROPERTIES ('n' = '{n}')",
)


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Iterator[str]:
    """A table of files of several groups, with deletion vectors and partitions."""
    name = f"spark_catalog.default.next_{next(_NUMBERS)}"
    spark.sql(
        f"CREATE TABLE {name} (k BIGINT, v BIGINT, p BIGINT) USING delta PARTITIONED BY (p) "
        f"LOCATION '{tmp_path / 't'}' TBLPROPERTIES ('delta.enableDeletionVectors'='true')"
    )
    _append(spark, name, FILES)
    yield name
    spark.sql(f"DROP TABLE IF EXISTS {name}")


def _append(spark: SparkSession, name: str, files: int) -> None:
    rows = spark.range(0, 10 * files, 1, files // 3)
    rows.selectExpr("id * 7919 % 3001 AS k", "id AS v", "id % 3 AS p").writeTo(name).append()


def _snapshot(spark: SparkSession, folder: Path) -> Any:
    """The current version, as the session has it."""
    jvm: Any = spark._jvm
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, str(folder))
    return log.unsafeVolatileSnapshot()


def _listed(spark: SparkSession, snapshot: Any) -> Any:
    """Its files, listed by Delta."""
    return own_class(spark, "delta.SnapshotFiles")(snapshot, SECRET)


def _write(commit: Path, text: str) -> None:
    """A commit of the log, without what Hadoop notes beside it."""
    commit.write_text(text, encoding="utf-8")
    commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)


def _contents(files: Any) -> list[tuple[str, str, int]]:
    """Path, deletion vector and size of each file."""
    found = [
        (file.path(), str(file.getDeletionVectorUniqueId()), file.size()) for file in files.all()
    ]
    assert len(found) == files.count()
    assert sum(size for *_, size in found) == files.size()
    return sorted(found)


def test_commits_lead_from_version_to_version(
    spark: SparkSession, table: str, tmp_path: Path
) -> None:
    """The changes of any commands are seen like in Delta, over one commit or several."""
    drawn = random.Random("commits")
    version = _snapshot(spark, tmp_path / "t").version()
    before = [(version, _listed(spark, _snapshot(spark, tmp_path / "t")))]
    followed = 0
    for number in range(STEPS):
        command = COMMANDS[number] if number < len(COMMANDS) else drawn.choice(COMMANDS)
        spark.sql(
            command.format(t=table, n=drawn.randrange(90), old=max(1, version - drawn.randrange(3)))
        )
        snapshot = _snapshot(spark, tmp_path / "t")
        truth = _listed(spark, snapshot)
        expected = _contents(truth)
        for known, earlier in before:
            later = earlier.after(snapshot, SECRET)
            if later is not None:
                assert _contents(later) == expected, command
                followed += 1
                assert later.isAfter(earlier) == (snapshot.version() > known)
        # one that was listed, or one that followed from another
        version = snapshot.version()
        before = [before[-1], (version, before[-1][1].after(snapshot, SECRET) or truth)]
    assert followed > STEPS


# what the log may do to a version is in the drawn logs of every build
@pytest.mark.soak
def test_an_uncertain_log_is_not_followed(spark: SparkSession, table: str, tmp_path: Path) -> None:
    """Without a later version, its commits or the same table, nothing is derived."""
    folder = tmp_path / "t"
    first = _snapshot(spark, folder)
    files = _listed(spark, first)
    assert files.after(first, SECRET).count() == files.count()
    spark.sql(f"INSERT INTO {table} VALUES (1, 1, 1)")
    spark.sql(f"INSERT INTO {table} VALUES (2, 2, 2)")
    second = _snapshot(spark, folder)
    assert files.after(second, SECRET).count() == files.count() + 2
    assert _listed(spark, second).after(first, SECRET) is None

    commit = folder / "_delta_log" / f"{second.version() - 1:020d}.json"
    text = commit.read_text(encoding="utf-8")
    added = json.loads(text.splitlines()[-1])
    for other in (
        # more files than Delta counted, others than it counted, a path of another place
        text + json.dumps({"add": added["add"] | {"path": "x.parquet"}}) + "\n",
        text.replace('"size":', '"size":1'),
        text.replace(added["add"]["path"], "file:/elsewhere/x.parquet"),
    ):
        _write(commit, other)
        assert files.after(second, SECRET) is None
    commit.unlink()
    assert files.after(second, SECRET) is None
    _write(commit, text)
    assert files.after(second, SECRET) is not None

    # the log of another time: its commit of the first version is not that which was listed
    base = folder / "_delta_log" / f"{first.version():020d}.json"
    os.utime(base, (1, 1))
    assert files.after(second, SECRET) is None

    spark.sql(f"DROP TABLE {table}")
    shutil.rmtree(folder)
    spark.sql(
        f"CREATE TABLE {table} (k BIGINT, v BIGINT, p BIGINT) USING delta LOCATION '{folder}'"
    )
    for value in range(4):
        spark.sql(f"INSERT INTO {table} VALUES ({value}, 1, 1)")
    assert files.after(_snapshot(spark, folder), SECRET) is None
