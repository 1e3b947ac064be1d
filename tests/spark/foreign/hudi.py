"""Hudi tables: of both kinds, with folders in several styles, read by path and by several names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.spark.foreign.story import Route, Story
from tests.spark.foreign.values import KINDS, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

__all__ = ["HudiStory"]


class HudiStory(Story):
    """A Hudi table that others write, with partition values in the files or only in the folders."""

    format = "hudi"
    # by statistics of columns it leaves out files for LIKE 'k1%' whose values begin before and end
    # behind that
    own_skipping = "hoodie.enable.data.skipping"

    def make(self) -> None:
        self.location = self.folder / "data"
        self.entries: list[str] = []
        self.instants: list[str] = []
        self.partition: Field | None = None
        self.draw_columns()
        for at in self.fields:
            at.ddl = "STRING" if at.kind in ("char", "varchar") else at.ddl
        if self.drawn.random() < 0.5:
            kind = self.drawn.choice(("int", "string", "date", "boolean"))
            self.partition = Field(name="p", kind=kind, ddl=KINDS[kind].ddl)
            self.fields.append(self.partition)
        self.settings = {
            "hoodie.datasource.write.table.type": self.drawn.choice(
                ("COPY_ON_WRITE", "MERGE_ON_READ")
            ),
            "hoodie.datasource.write.hive_style_partitioning": self.drawn.choice(("true", "false")),
            "hoodie.datasource.write.partitionpath.urlencode": "true",
            "hoodie.metadata.enable": self.drawn.choice(("true", "false", "false")),
            "hoodie.datasource.write.drop.partition.columns": self.drawn.choice(
                ("false", "false", "true")
            ),
        }
        if self.partition is not None and self.partition.kind != "string":
            # Hudi takes folders alone for strings, and then refuses the next write
            self.settings["hoodie.datasource.write.drop.partition.columns"] = "false"
        self.log.append(str(self.settings))
        for _ in range(self.drawn.choice((2, 3))):
            self._insert()

    def forget(self) -> None:
        for name in self.entries:
            self.spark.sql(f"DROP TABLE IF EXISTS {name}")

    # steps

    def steps(self) -> Sequence[Callable[[], None]]:
        steps = [self._insert, self._upsert, self._delete, self._add_column]
        if len(self.entries) < 2:
            steps += [self._name, self._name]
        return steps

    def _write(self, rows: Any, operation: str) -> None:
        options = self.settings | {
            "hoodie.table.name": self.table,
            "hoodie.datasource.write.recordkey.field": "id",
            "hoodie.datasource.write.partitionpath.field": "p" if self.partition else "",
            "hoodie.datasource.write.operation": operation,
            "hoodie.bulkinsert.sort.mode": "NONE",
            "hoodie.bulkinsert.shuffle.parallelism": "1",
            "hoodie.parquet.small.file.limit": "0",
            "hoodie.clean.automatic": "false",
            "hoodie.compact.inline": "false",
        }
        self.log.append(operation)
        rows.write.format("hudi").options(**options).mode("append").save(str(self.location))
        for name in self.entries:
            for session in self.sessions:
                session.catalog.refreshTable(name)

    def _staged(self) -> Any:
        path = self.folder / f"staged{self._rows}.parquet"
        self.write(path, self.rows())
        return self.spark.read.parquet(str(path)).coalesce(1)

    def _insert(self) -> None:
        self._write(self._staged(), "bulk_insert")
        timeline = self.location / ".hoodie" / "timeline"
        self.instants.append(max(at.name.partition("_")[0] for at in timeline.glob("*_*commit")))

    def _here(self) -> Any:
        rows = self.spark.read.format("hudi").load(str(self.location))
        return rows.drop(*(at for at in rows.columns if at.startswith("_hoodie")))

    def _upsert(self) -> None:
        """Rows of some keys take the values of others."""
        rows = self._here().where(f"id % 6 = {self.drawn.randrange(6)}").localCheckpoint()
        at = self.drawn.choice([at for at in self.fields if at.name != "p"])
        if not at.nested:
            value = f"(SELECT max({at.name}) FROM now)"
            rows.createOrReplaceTempView("now")
            rows = rows.selectExpr(
                *(f"{value} AS {name}" if name == at.name else name for name in rows.columns)
            ).localCheckpoint()
        self._write(rows, "upsert")

    def _delete(self) -> None:
        rows = self._here().where(f"id % 7 = {self.drawn.randrange(7)}").localCheckpoint()
        self._write(rows, "delete")

    def _add_column(self) -> None:
        """Later files have a column that earlier ones lack."""
        at = Field(name=f"n{len(self.fields)}", kind="int", ddl="INT")
        self.fields.append(at)
        self._insert()

    def _name(self) -> None:
        name = f"spark_catalog.default.{self.table}_{len(self.entries)}"
        self.entries.append(name)
        self.sql(f"CREATE TABLE {name} USING hudi LOCATION '{self.location}'")

    # ways to read

    def names(self) -> Sequence[str]:
        return [*self.entries, f"hudi:{self.location}"]

    def routes(self) -> Sequence[Route]:
        path = str(self.location)

        def loaded(**options: str) -> Callable[[SparkSession], Any]:
            return lambda s: s.read.format("hudi").options(**options).load(path)

        def of(name: str) -> Callable[[SparkSession], Any]:
            return lambda s: s.table(name)

        named = [Route(label=name, name=name, frame=of(name)) for name in self.entries]
        instant = self.drawn.choice(self.instants)
        by_folder = {"hoodie.datasource.read.extract.partition.values.from.path": "true"}
        return [
            *named,
            Route(
                label="spark.read.format('hudi').load(path)", name=f"hudi:{path}", frame=loaded()
            ),
            Route(label=f"as of {instant}", frame=loaded(**{"as.of.instant": instant})),
            Route(label=str(by_folder), frame=loaded(**by_folder)),
            Route(
                label="without its metadata", frame=loaded(**{"hoodie.metadata.enable": "false"})
            ),
            Route(
                label="read optimized",
                frame=loaded(**{"hoodie.datasource.query.type": "read_optimized"}),
            ),
        ]
