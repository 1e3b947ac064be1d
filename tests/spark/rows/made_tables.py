"""Create a drawn table in one of the formats, index it and change it."""

from __future__ import annotations

import json
import random
import uuid
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from tests.spark.deletes.kit import EqualityDeletes, load
from tests.spark.rows.drawn_tables import DDL, rows_of, write
from tests.spark.rows.file_kinds import row_group_starts
from tests.spark.rows.iceberg_files import described_file

import lakesieve as ls
from lakesieve.spark.versions.java_classes import java_class
from lakesieve.storage import local_path

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession
    from tests.spark.rows.drawn_tables import DrawnFile, DrawnTable

__all__ = ["DeltaTable", "IcebergTable", "MadeTable", "ParquetFolder", "make"]

_PROPERTIES = {
    "iceberg": {
        "write.distribution-mode": "none",
        "write.delete.mode": "merge-on-read",
        "write.update.mode": "merge-on-read",
        "write.parquet.row-group-size-bytes": "2000",
        "write.parquet.row-group-check-min-record-count": "10",
        "write.parquet.row-group-check-max-record-count": "10",
        "write.parquet.page-row-limit": "3",
    },
    "delta": {"delta.enableDeletionVectors": "true"},
}


class MadeTable:
    """A table with the data files that a ``DrawnTable`` describes.

    Args:
        spark: The session.
        drawn: What was drawn.
        seed: Draws the values.
        folder: A new folder of the test's own.
    """

    def __init__(self, spark: SparkSession, drawn: DrawnTable, seed: int, folder: Path) -> None:
        self.spark = spark
        self.drawn = drawn
        self.folder = folder
        self.random = random.Random(f"values {seed}")
        self.names = {name: name for name in DDL}
        self.rows = 0
        self.create()
        for file in drawn.files:
            self.add(file)
        self.live(drawn.before)

    # what SQL and lakesieve call the table
    name = relation = ""

    def create(self) -> None:
        """Create the table without rows."""
        raise NotImplementedError

    def write_file(self, rows: pa.Table, file: DrawnFile) -> None:
        """Write a data file, and add it to the table."""
        raise NotImplementedError

    def add(self, file: DrawnFile) -> None:
        """Add a data file with new rows."""
        self.write_file(rows_of(self.random, file, self.rows), file)
        self.rows += file.rows

    def index(self) -> None:
        """Create the indexes, and let happen what happens afterwards."""
        for column, block in zip(self.drawn.indexed, self.drawn.blocks, strict=True):
            first, *inner = column.split(".")
            name = ".".join([self.names[first], *inner])
            ls.create_index(self.name, name, spark=self.spark, name=first, rows_per_block=block)
        self.live(self.drawn.after)
        if self.drawn.refreshed:
            ls.refresh_indexes(self.name, spark=self.spark)

    def drop(self) -> None:
        """Remove the table from its catalog."""

    def live(self, steps: tuple[str, ...]) -> None:
        """Let something happen to the table."""
        for step in steps:
            getattr(self, f"_{step.replace(' ', '_')}")()

    def _sql(self, text: str) -> None:
        self.spark.sql(text)

    def _some(self) -> str:
        number = self.random.randint(2, 9)
        return f"id % {number} = {self.random.randrange(number)}"

    def _delete(self) -> None:
        self._sql(f"DELETE FROM {self.relation} WHERE {self._some()}")

    def _update(self) -> None:
        self._sql(f"UPDATE {self.relation} SET {self.names['wide']} = 'new' WHERE {self._some()}")

    def _add(self) -> None:
        self._sql(f"ALTER TABLE {self.relation} ADD COLUMN late INT")
        self.names["late"] = "late"
        self._sql(f"UPDATE {self.relation} SET late = 5 WHERE {self._some()}")

    def _rename(self) -> None:
        self._sql(f"ALTER TABLE {self.relation} RENAME COLUMN {self.names['word']} TO text")
        self.names["word"] = "text"

    def _drop_and_add(self) -> None:
        self._sql(f"ALTER TABLE {self.relation} DROP COLUMN maybe")
        self._sql(f"ALTER TABLE {self.relation} ADD COLUMN maybe DOUBLE")

    def _insert(self) -> None:
        self._sql(f"INSERT INTO {self.relation} SELECT * FROM {self.relation} WHERE {self._some()}")


class IcebergTable(MadeTable):
    """An Iceberg table. Its first files are written without Iceberg, and have field ids."""

    def create(self) -> None:
        self.name = self.relation = f"lake.drawn.t{uuid.uuid4().hex}"
        version = str(self.random.choice([2, 3]))
        properties = _PROPERTIES["iceberg"] | {"format-version": version}
        self._sql(_created(self.relation, "iceberg", properties))

    def write_file(self, rows: pa.Table, file: DrawnFile) -> None:
        from pyiceberg.io.pyarrow import schema_to_pyarrow
        from pyiceberg.schema import Schema

        table = load(self.spark, self.name)
        parser = java_class(self.spark, "org.apache.iceberg.SchemaParser")
        schema = schema_to_pyarrow(Schema.model_validate_json(parser.toJson(table.schema())))
        path = f"{table.location()}/data/{uuid.uuid4().hex}.parquet"
        local = local_path(path)
        local.parent.mkdir(exist_ok=True, parents=True)
        write(pa.Table.from_pylist(rows.to_pylist(), schema=schema), local, file)
        offsets = row_group_starts(local) if self.random.random() < 0.8 else None
        described = described_file(self.spark, table, path, rows.num_rows, offsets)
        table.newAppend().appendFile(described).commit()
        self._sql(f"REFRESH TABLE {self.relation}")

    def drop(self) -> None:
        self._sql(f"DROP TABLE {self.relation} PURGE")

    def _delete_by_key(self) -> None:
        rows: list[list[Any]] = [[self.random.randrange(9)], [None]]
        EqualityDeletes(self.spark, self.name).delete([self.names["k"]], rows)
        self._sql(f"REFRESH TABLE {self.relation}")

    def _widen(self) -> None:
        self._sql(f"ALTER TABLE {self.relation} ALTER COLUMN k TYPE BIGINT")


class DeltaTable(MadeTable):
    """A Delta table. Its first files are written without Delta."""

    mapped = False

    def create(self) -> None:
        self.name, self.relation = f"delta:{self.folder}", f"delta.`{self.folder}`"
        self._sql(_created(self.relation, "delta", _PROPERTIES["delta"]))

    def write_file(self, rows: pa.Table, file: DrawnFile) -> None:
        log = self.folder / "_delta_log"
        version = max(int(path.stem) for path in log.glob("*[0-9].json")) + 1
        path = self.folder / f"{version}.parquet"
        write(rows, path, file)
        stats = json.dumps({"numRecords": rows.num_rows})
        known: dict[str, Any] = {
            "path": path.name,
            "partitionValues": {},
            "size": path.stat().st_size,
            "modificationTime": path.stat().st_mtime_ns // 1_000_000,
            "dataChange": True,
        }
        if self.random.random() < 0.8:
            known["stats"] = stats
        (log / f"{version:020d}.json").write_text(json.dumps({"add": known}))

    def _map_columns(self) -> None:
        """Give columns identities, so that they can be renamed and dropped."""
        if not self.mapped:
            mode = "'delta.columnMapping.mode' = 'name'"
            self._sql(f"ALTER TABLE {self.relation} SET TBLPROPERTIES ({mode})")
            self.mapped = True

    def _rename(self) -> None:
        self._map_columns()
        super()._rename()

    def _drop_and_add(self) -> None:
        self._map_columns()
        super()._drop_and_add()


class ParquetFolder(MadeTable):
    """A folder of Parquet files, read with a schema that a user gives."""

    def create(self) -> None:
        self.name, self.relation = f"parquet:{self.folder}", f"parquet.`{self.folder}`"
        self.folder.mkdir()

    def write_file(self, rows: pa.Table, file: DrawnFile) -> None:
        write(rows, self.folder / f"{self.rows}.parquet", file)

    def index(self) -> None:
        super().index()
        self.relation = f"v{uuid.uuid4().hex}"
        types = DDL | {name: "INT" for name in self.names if name not in DDL}
        schema = ", ".join(f"{name} {types[name]}" for name in self.names)
        rows = self.spark.read.schema(schema).parquet(str(self.folder))
        rows.createOrReplaceTempView(self.relation)

    def _add(self) -> None:
        self.names["late"] = "late"
        rows = self.spark.sql(f"SELECT *, 5 AS late FROM {self.relation} WHERE {self._some()}")
        self._append(rows)

    def _insert(self) -> None:
        self._append(self.spark.sql(f"SELECT * FROM {self.relation} WHERE {self._some()}"))

    def _append(self, rows: Any) -> None:
        # rows of files that are read may not be written to their folder at once
        held = self.spark.createDataFrame(rows.collect(), rows.schema).coalesce(1)
        held.write.mode("append").option("parquet.page.row.count.limit", "3").parquet(
            str(self.folder)
        )

    def _replace(self) -> None:
        """Write other rows to the first file, under its name."""
        file = self.drawn.files[0]
        write(rows_of(self.random, file, self.rows), self.folder / "0.parquet", file)
        self.rows += file.rows


def _created(relation: str, form: str, properties: dict[str, str]) -> str:
    columns = ", ".join(f"{name} {kind}" for name, kind in DDL.items())
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    return f"CREATE TABLE {relation} ({columns}) USING {form} TBLPROPERTIES ({listed})"


_TABLES = {"iceberg": IcebergTable, "delta": DeltaTable, "parquet": ParquetFolder}


def make(spark: SparkSession, drawn: DrawnTable, seed: int, folder: Path) -> MadeTable:
    """Create a drawn table, and let happen what happens before it is indexed."""
    return _TABLES[drawn.format](spark, drawn, seed, folder)
