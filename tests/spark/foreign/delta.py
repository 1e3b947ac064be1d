"""Delta tables: converted from files of others, cloned, under several names, mapped or not."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from tests.spark.foreign.parquet import folder_of
from tests.spark.foreign.story import Route, Story
from tests.spark.foreign.values import KINDS, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

__all__ = ["DeltaStory"]

_WIDER = {"INT": "BIGINT", "FLOAT": "DOUBLE", "DECIMAL(9,2)": "DECIMAL(12,2)"}
_MAPPED = (
    "'delta.columnMapping.mode'='name', 'delta.minReaderVersion'='2', 'delta.minWriterVersion'='5'"
)


class DeltaStory(Story):
    """A folder with a Delta log, known by its path and by up to two names, and clones of it."""

    format = "delta"

    def make(self) -> None:
        self.location = self.folder / self.drawn.choice(("data", "da ta%20"))
        self.entries: list[str] = []
        self.clones: list[str] = []
        self.mapped = False
        self.partition: Field | None = None
        self.draw_columns()
        if self.drawn.random() < 0.4:
            kind = self.drawn.choice(("int", "string", "date", "char", "boolean"))
            self.partition = Field(name="p", kind=kind, ddl=KINDS[kind].ddl)
            self.fields.append(self.partition)
        if self.drawn.random() < 0.4:
            self._convert()
        else:
            self._create()
        for _ in range(self.drawn.choice((1, 2))):
            self._insert()

    def _create(self) -> None:
        self.mapped = self.drawn.random() < 0.5
        vectors = self.drawn.choice(("true", "false"))
        properties = f"'delta.enableDeletionVectors'='{vectors}'"
        if self.mapped:
            properties += f", {_MAPPED}"
        if self.drawn.random() < 0.5:
            properties += ", 'delta.enableTypeWidening'='true'"
        by = "PARTITIONED BY (p)" if self.partition else ""
        name = self._new_name()
        declared = ", ".join(["id INT", *(at.declared for at in self.fields)])
        self.sql(
            f"CREATE TABLE {name} ({declared}) USING delta {by} LOCATION '{self.location}' "
            f"TBLPROPERTIES ({properties})"
        )
        self._insert()

    def _convert(self) -> None:
        """Files of another program become a table where they are."""
        self.mapped = False
        for at in self.fields:
            at.ddl = "STRING" if at.kind in ("char", "varchar") else at.ddl
        for _ in range(2):
            rows, folder = self.rows(), self.location
            if self.partition is not None:
                folder /= folder_of("p", self.drawn.choice(_folders(self.partition)))
                rows = rows.drop_columns(["p"])
            self.write(folder / f"f{self._rows}.parquet", rows)
        by = f" PARTITIONED BY ({self.partition.declared})" if self.partition else ""
        self.sql(f"CONVERT TO DELTA parquet.`{self.location}`{by}")
        self._name()

    def _new_name(self) -> str:
        self.entries.append(f"spark_catalog.default.{self.table}_{len(self.entries)}")
        return self.entries[-1]

    def _name(self) -> None:
        self.sql(f"CREATE TABLE {self._new_name()} USING delta LOCATION '{self.location}'")

    def forget(self) -> None:
        for name in [*self.entries, *self.clones]:
            self.spark.sql(f"DROP TABLE IF EXISTS {name}")

    # steps

    def steps(self) -> Sequence[Callable[[], None]]:
        steps = [
            self._insert,
            self._insert,
            self._delete,
            self._update,
            self._add_column,
            self._widen,
            self._reorder,
            self._compact,
            *([self._recreate] if self.drawn.random() < 0.3 else []),
            self._clone,
        ]
        if len(self.entries) < 2:
            steps.append(self._name)
        if self.mapped:
            steps += [self._rename, self._drop_and_add] * 2
        else:
            steps.append(self._map)
        return steps

    def _insert(self) -> None:
        name = self.drawn.choice(self.entries)
        staged = self.folder / f"staged{self._rows}.parquet"
        self.write(staged, self.rows())
        columns = ", ".join(["id", *(at.name for at in self.fields)])
        self.sql(f"INSERT INTO {name} ({columns}) SELECT {columns} FROM parquet.`{staged}`")

    def _free(self) -> list[Field]:
        return [at for at in self.fields if at.name != "p"]

    def _delete(self) -> None:
        rest = self.drawn.randrange(5)
        self.sql(f"DELETE FROM {self.drawn.choice(self.entries)} WHERE id % 5 = {rest}")

    def _update(self) -> None:
        column = self.drawn.choice(self._free()).name
        self.sql(f"UPDATE {self.drawn.choice(self.entries)} SET {column} = NULL WHERE id % 4 = 1")

    def _add_column(self) -> None:
        kind = self.drawn.choice(("int", "string", "char", "varchar"))
        at = Field(name=f"n{len(self.fields)}", kind=kind, ddl=KINDS[kind].ddl)
        self.sql(f"ALTER TABLE {self.drawn.choice(self.entries)} ADD COLUMNS ({at.declared})")
        self.fields.append(at)

    def _widen(self) -> None:
        fields = [at for at in self._free() if at.ddl in _WIDER]
        if fields:
            at, name = self.drawn.choice(fields), self.drawn.choice(self.entries)
            kind = _WIDER[at.ddl]
            self.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('delta.enableTypeWidening'='true')")
            self.sql(f"ALTER TABLE {name} ALTER COLUMN {at.key} TYPE {kind}")
            at.ddl = kind

    def _reorder(self) -> None:
        column = self.drawn.choice(self.fields).name
        self.sql(f"ALTER TABLE {self.drawn.choice(self.entries)} ALTER COLUMN {column} FIRST")

    def _map(self) -> None:
        self.sql(f"ALTER TABLE {self.drawn.choice(self.entries)} SET TBLPROPERTIES ({_MAPPED})")
        self.mapped = True

    def _rename(self) -> None:
        at, new = self.drawn.choice(self._free()), f"r{self._rows}"
        self.sql(f"ALTER TABLE {self.drawn.choice(self.entries)} RENAME COLUMN {at.name} TO {new}")
        at.name = new

    def _drop_and_add(self) -> None:
        at, name = self.drawn.choice(self._free()), self.drawn.choice(self.entries)
        self.sql(f"ALTER TABLE {name} DROP COLUMN {at.name}")
        self.sql(f"ALTER TABLE {name} ADD COLUMNS ({at.declared})")

    def _compact(self) -> None:
        self.sql(f"OPTIMIZE {self.drawn.choice(self.entries)}")

    def _recreate(self) -> None:
        """Another table in the same place, where the index of the first was left behind."""
        for name in [*self.entries, *self.clones]:
            self.sql(f"DROP TABLE {name}")
        self.entries, self.clones = [], []
        for entry in self.location.iterdir():
            if entry.name != "_lakesieve":
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        index, aside = self.location / "_lakesieve", self.folder / "aside"
        if index.exists():
            index.rename(aside)
        self._create()
        if aside.exists():
            aside.rename(index)

    def _clone(self) -> None:
        name = f"spark_catalog.default.{self.table}_clone{len(self.clones)}"
        self.clones.append(name)
        to = self.folder / f"clone{len(self.clones)}"
        source = self.drawn.choice(self.entries)
        self.sql(f"CREATE TABLE {name} SHALLOW CLONE {source} LOCATION '{to}'")

    # ways to read

    def names(self) -> Sequence[str]:
        return [*self.entries, f"delta:{self.location}"]

    def routes(self) -> Sequence[Route]:
        path, version = str(self.location), self.drawn.randrange(3)

        def by_view(session: SparkSession) -> Any:
            session.sql(f"CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT * FROM {self.entries[0]}")
            return session.table("seen")

        def older(session: SparkSession) -> Any:
            return session.read.format("delta").option("versionAsOf", version).load(path)

        named = [
            Route(label=name, name=name, frame=_of(name)) for name in [*self.entries, *self.clones]
        ]
        return [
            *named,
            Route(
                label="spark.read.format('delta').load(path)",
                name=f"delta:{path}",
                frame=lambda s: s.read.format("delta").load(path),
            ),
            Route(label="FROM delta.`path`", frame=lambda s: s.sql(f"FROM delta.`{path}`")),
            Route(label="a temporary view", frame=by_view),
            Route(label=f"versionAsOf {version}", frame=older),
        ]


def _of(name: str) -> Callable[[SparkSession], Any]:
    return lambda session: session.table(name)


def _folders(partition: Field) -> Sequence[Any]:
    if partition.kind == "boolean":
        return ("true", "false")
    if partition.kind in ("char", "string"):
        return ("x y", "50%", "a=b", None)
    return [*KINDS[partition.kind].values[:3], None]
