"""Iceberg tables of drawn histories: each branch, tag and snapshot read as Spark reads it."""

from __future__ import annotations

import random
import shutil
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from tests.depth import depth
from tests.spark.iceberg_listing import check_by_iceberg

import lakesieve as ls
from lakesieve.engines.table_rows import rows_of
from lakesieve.predicate.expression import Constant
from lakesieve.spark.tables import open_table as open_with_spark
from lakesieve.tables.iceberg.table import IcebergReader
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STORIES = depth("BRANCH_STORIES", test=1, soak=33)
STEPS = 8
_WIDER = {"int": "BIGINT", "float": "DOUBLE", "decimal(9,2)": "DECIMAL(12,2)"}
_VALUES = {
    "int": "CAST({} AS INT)",
    "bigint": "CAST({} AS BIGINT) * 3000000000",
    "float": "CAST({} AS FLOAT) / 4",
    "double": "CAST({} AS DOUBLE) / 10",
    "decimal(9,2)": "CAST({} AS DECIMAL(9,2))",
    "decimal(12,2)": "CAST({} AS DECIMAL(12,2))",
    "string": "CONCAT('s', {})",
    "date": "DATE_ADD(DATE '2026-01-01', CAST({} AS INT))",
    "timestamp_ntz": "TIMESTAMP_NTZ '2026-01-01 00:00:00'",
}


class _Story:
    """A random history of one table: commits, schema changes, branches and tags."""

    def __init__(self, spark: SparkSession, name: str, seed: int) -> None:
        self.spark, self.name, self.drawn = spark, name, random.Random(f"branches {seed}")
        self.steps: list[str] = []
        self.references: list[str] = []
        self.rows = 0
        self.run(f"CREATE TABLE {name} (k BIGINT, a INT, b STRING, c FLOAT) USING iceberg")
        self.insert(name)

    def run(self, statement: str) -> None:
        self.steps.append(statement)
        self.spark.sql(statement)

    def fields(self) -> dict[str, str]:
        frame = self.spark.table(self.name)
        return {field.name: field.dataType.simpleString() for field in frame.schema}

    def insert(self, target: str) -> None:
        self.rows += 3
        columns = [
            "NULL" if self.drawn.random() < 0.2 else _VALUES[kind].format("id")
            for kind in self.fields().values()
        ]
        span = f"range({self.rows}, {self.rows + 3}, 1, 1)"
        self.run(f"INSERT INTO {target} SELECT {', '.join(columns)} FROM {span}")

    def step(self) -> None:
        fields = self.fields()
        others = [name for name in fields if name != "k"]
        column = self.drawn.choice(others) if others else "k"
        alter, new = f"ALTER TABLE {self.name}", f"c{len(self.steps)}"
        kind = self.drawn.choice(list(_VALUES))
        # a name that another column had
        again = self.drawn.choice(["a", "b", "c", new])
        added = new if again in fields else again
        match self.drawn.randrange(9):
            case 0 if others:
                self.run(f"{alter} RENAME COLUMN {column} TO {added}")
            case 1:
                self.run(f"{alter} ADD COLUMN {added} {kind}")
            case 2 if len(others) > 1:
                self.run(f"{alter} DROP COLUMN {column}")
            case 3 if fields[column] in _WIDER:
                self.run(f"{alter} ALTER COLUMN {column} TYPE {_WIDER[fields[column]]}")
            case 4 if others:
                place = self.drawn.choice(["FIRST", "AFTER k"])
                self.run(f"{alter} ALTER COLUMN {column} {place}")
            case 5:
                self.refer("BRANCH")
            case 6:
                self.refer("TAG")
            case 7:
                branches = [name for name in self.references if name.startswith("branch")]
                if branches:
                    self.insert(f"{self.name}.branch_{self.drawn.choice(branches)}")
            case _:
                self.insert(self.name)
                if self.drawn.random() < 0.4:
                    self.run(f"DELETE FROM {self.name} WHERE k IS NULL")

    def refer(self, kind: str) -> None:
        name = f"{kind.lower()}{len(self.references)}"
        self.references.append(name)
        self.run(f"ALTER TABLE {self.name} CREATE {kind} {name}")


def _texts(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


def _check(story: _Story, warehouse: str, version: str | None) -> None:
    """Insist that a version has the same columns, rows and files with and without a session."""
    spark, name = story.spark, story.name
    spelled = f" VERSION AS OF {version if version and version.isdigit() else repr(version)}"
    frame: Any = spark.sql(f"SELECT * FROM {name}{'' if version is None else spelled}")
    told = (version, story.steps)
    rows = rows_of(open_table(name, warehouse=warehouse), version)
    schema, batches = rows.batches(Constant(value=True))
    assert schema.names == frame.columns, told
    assert _texts(pa.Table.from_batches(batches, schema)) == _texts(frame.toArrow()), told
    with_spark, without = open_with_spark(spark, name), open_table(name, warehouse=warehouse)
    theirs, ours = with_spark.reader.version(version), without.version(version)
    assert dict(without.columns(ours)) == dict(with_spark.reader.columns(theirs)), told
    found = ls.find_files(name, "k > 5", version=version, warehouse=warehouse)
    expected = ls.find_files(name, "k > 5", spark=spark, version=version)
    bare = [sorted(p.removeprefix("file:") for p in one.paths) for one in (found, expected)]
    assert bare[0] == bare[1], told


def test_versions_are_read_as_by_spark(spark: SparkSession, table: str) -> None:
    """Main, each branch and tag, and snapshots by id, after renames, drops and promotions."""
    warehouse = str(spark.conf.get("spark.sql.catalog.lake.warehouse"))
    first = depth("FIRST_CASE", test=0, soak=0)
    for seed in range(first, first + STORIES):
        spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
        shutil.rmtree(f"{warehouse}/t/{table.rpartition('.')[2]}", ignore_errors=True)
        story = _Story(spark, table, seed)
        for _ in range(STEPS):
            story.step()
        kept = spark.sql(f"SELECT snapshot_id FROM {table}.snapshots").collect()
        ids = [str(row[0]) for row in kept]
        versions = (None, *story.references, *story.drawn.sample(ids, min(3, len(ids))))
        for version in versions:
            _check(story, warehouse, version)
        reader = open_with_spark(spark, table).reader
        assert isinstance(reader, IcebergReader)
        check_by_iceberg(spark, table, reader, versions)
