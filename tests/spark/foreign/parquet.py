"""Directories of Parquet files: several names, folders moved by hand, files replaced in place."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Any

from tests.spark.foreign.story import Route, Story
from tests.spark.foreign.values import KINDS, Field, literal

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ParquetStory", "folder_of"]

_NULL = "__HIVE_DEFAULT_PARTITION__"
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^")
_FOLDERS = ("x y", "50%", "a=b", "007", "1.50", "2020-03-07")
_DEFAULTS = {"int": 5, "string": "ab", "char": "ab", "varchar": "ab"}


def folder_of(name: str, value: Any) -> str:
    """The folder of a partition, as Hive spells it."""
    text = _NULL if value is None or value == "" else str(value)
    return f"{name}=" + "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)


class ParquetStory(Story):
    """Files that another program wrote, under up to two names in the catalog and by their path."""

    format = "parquet"

    def make(self) -> None:
        self.draw_columns()
        self.location = self.folder / self.drawn.choice(("data", "da ta%20"))
        self.entries: list[str] = []
        self.partition: Field | None = None
        self.values: list[Any] = []
        self.theme = self.drawn.choice(("files", "defaults", "defaults", "folders", "folders"))
        if self.theme == "folders" or self.drawn.random() < 0.3:
            kind = self.drawn.choice(("int", "string", "date", "char"))
            self.partition = Field(name="p", kind=kind, ddl=KINDS[kind].ddl)
            drawn = _FOLDERS if kind in ("string", "char") else KINDS[kind].values
            self.values = self.drawn.sample(list(drawn), 3)
            if kind == "char":
                self.values = [value[:5] for value in self.values]
            self.partition.extra = [*self.values, None]
            if self.drawn.random() < 0.4:
                self.values.append(None)
        for _ in range(self.drawn.choice((2, 3, 4))):
            self._copy_file()
        self._name()

    def _name(self) -> None:
        """Give the folder a name in the catalog."""
        name = f"spark_catalog.default.{self.table}_{len(self.entries)}"
        fields = self._inner_fields()
        if self.entries:
            fields = self.drawn.sample(fields, len(fields))
        declared = ["id INT", *(at.declared for at in fields)]
        by = ""
        if self.partition is not None:
            declared.append(self.partition.declared)
            by = "PARTITIONED BY (p)"
        self.entries.append(name)
        self.sql(
            f"CREATE TABLE {name} ({', '.join(declared)}) USING parquet {by} "
            f"LOCATION '{self.location}'"
        )
        if self.partition is not None:
            self.sql(f"MSCK REPAIR TABLE {name}")
            self.fields = [*self._inner_fields(), self.partition]

    def _inner_fields(self) -> list[Field]:
        return [at for at in self.fields if at.name != "p"]

    def _write_folder(self) -> Path:
        if self.partition is None:
            return self.location
        return self.location / folder_of("p", self.drawn.choice(self.values))

    def _files(self) -> list[Path]:
        return sorted(self.location.rglob("[!_.]*.parquet"))

    def _copy_file(self) -> None:
        fields = self._inner_fields()
        rows = self.rows(fields)
        if len(fields) > 1 and self.drawn.random() < 0.2:
            rows = rows.drop_columns([self.drawn.choice(fields).name])
        if self.drawn.random() < 0.15:
            rows = rows.rename_columns([name.upper() for name in rows.column_names])
        if self.drawn.random() < 0.2:
            rows = rows.select(self.drawn.sample(rows.column_names, rows.num_columns))
        at = self._rows
        self.write(self._write_folder() / f"f{at}.parquet", rows)

    def forget(self) -> None:
        for name in self.entries:
            self.spark.sql(f"DROP TABLE IF EXISTS {name}")

    # steps

    def steps(self) -> Sequence[Callable[[], None]]:
        added = any(at.extra for at in self._inner_fields())
        if self.theme == "defaults" and (not added or self.drawn.random() < 0.4):
            return [self._change_default if added and self.indexes else self._add_column]
        steps = [
            self._add_file,
            self._replace_file,
            self._remove_file,
            self._insert,
            self._add_column,
            *([self._recreate] if self.drawn.random() < 0.3 else []),
        ]
        if len(self.entries) < 2:
            steps.append(self._name)
        folders = [self._move_partition, self._add_partition, self._rename_partition]
        if self.partition is None:
            return steps
        return folders if self.drawn.random() < 0.8 else [*steps, *folders]

    def _known(self) -> None:
        """Most people tell Spark of what they did; some do not."""
        for name in self.entries:
            if self.partition is not None and self.drawn.random() < 0.8:
                self.sql(f"MSCK REPAIR TABLE {name}")
            if self.drawn.random() < 0.8:
                for session in self.sessions:
                    session.catalog.refreshTable(name)

    def _add_file(self) -> None:
        self._copy_file()
        self._known()

    def _replace_file(self) -> None:
        path = self.drawn.choice(self._files())
        self.write(path, self.rows(self._inner_fields()))
        self._known()

    def _remove_file(self) -> None:
        path = self.drawn.choice(self._files())
        self.log.append(f"rm {path.name}")
        path.unlink()
        self._known()

    def _insert(self) -> None:
        before = set(self._files())
        columns = ", ".join(["id", *(at.name for at in self._inner_fields())])
        p = "" if self.partition is None else f", {self._typed(self.drawn.choice(self.values))}"
        source = self.folder / f"staged{self._rows}.parquet"
        self.write(source, self.rows(self._inner_fields()))
        name = self.drawn.choice(self.entries)
        listed = columns + (", p" if p else "")
        self.sql(f"INSERT INTO {name} ({listed}) SELECT {columns}{p} FROM parquet.`{source}`")
        self._clock += 1
        for path in set(self._files()) - before:
            os.utime(path, (self._clock, self._clock))
        self._known()

    def _typed(self, value: Any) -> str:
        assert self.partition is not None
        return f"CAST({literal(value)} AS {self.partition.ddl.replace('CHAR(5)', 'STRING')})"

    def _add_column(self) -> None:
        kind = self.drawn.choice(("int", "int", "int", *_DEFAULTS))
        at = Field(name=f"n{len(self.fields)}", kind=kind, ddl=KINDS[kind].ddl)
        default = ""
        if self.drawn.random() < 0.8:
            at.extra = [_DEFAULTS[kind]]
            default = f" DEFAULT {literal(_DEFAULTS[kind])}"
        for name in self.entries:
            self.sql(f"ALTER TABLE {name} ADD COLUMNS ({at.declared}{default})")
        self.fields.insert(len(self._inner_fields()), at)

    def _change_default(self) -> None:
        at = self.drawn.choice([at for at in self._inner_fields() if at.extra])
        value = KINDS[at.kind].values[3]
        change = self.drawn.choice((f"SET DEFAULT {literal(value)}", "DROP DEFAULT"))
        self.sql(f"ALTER TABLE {self.drawn.choice(self.entries)} ALTER COLUMN {at.name} {change}")

    def _recreate(self) -> None:
        name = self.drawn.choice(self.entries)
        self.sql(f"DROP TABLE {name}")
        self.entries.remove(name)
        self._name()

    def _held(self) -> list[Any]:
        """Values of the partitions that have a folder."""
        return [at for at in self.values if (self.location / folder_of("p", at)).exists()]

    def _other_value(self) -> Any:
        """One that no partition may have yet."""
        assert self.partition is not None
        value = self.drawn.choice(KINDS[self.partition.kind].values)
        self.partition.extra.append(value)
        return value

    def _move_partition(self) -> None:
        value, other = self.drawn.choice(self._held()), self.drawn.choice(self._held())
        to = self.location / folder_of("p", other)
        if to.exists() and self.drawn.random() < 0.5:
            to = self.location / "moved"
            shutil.copytree(self.location / folder_of("p", other), to, dirs_exist_ok=True)
        name = self.drawn.choice(self.entries)
        self.sql(f"ALTER TABLE {name} PARTITION (p={literal(value)}) SET LOCATION '{to}'")

    def _add_partition(self) -> None:
        to = self.location / folder_of("p", self.drawn.choice(self._held()))
        value = self._other_value()
        if self.drawn.random() < 0.5:
            to = self.folder / "else where" / "part"
            self.write(to / "f.parquet", self.rows(self._inner_fields()))
        name = self.drawn.choice(self.entries)
        self.sql(f"ALTER TABLE {name} ADD PARTITION (p={literal(value)}) LOCATION '{to}'")

    def _rename_partition(self) -> None:
        old, new = self.drawn.choice(self._held()), self._other_value()
        name = self.drawn.choice(self.entries)
        self.sql(
            f"ALTER TABLE {name} PARTITION (p={literal(old)}) "
            f"RENAME TO PARTITION (p={literal(new)})"
        )
        for session in self.sessions:
            session.catalog.refreshTable(name)

    # ways to read

    def names(self) -> Sequence[str]:
        # by its path a column that is in no file yet is not known
        return [*self.entries * 2, f"parquet:{self.location}"]

    def routes(self) -> Sequence[Route]:
        path = str(self.location)
        routes = [
            route
            for name in self.entries * (5 if self.theme == "folders" else 1)
            for route in (
                Route(label=name, frame=_listed_before(name)),
                Route(label=f"refreshed {name}", name=name, frame=_refreshed(name)),
            )
        ]
        by_path = Route(
            label="spark.read.parquet(path)",
            name=f"parquet:{path}",
            frame=lambda s: s.read.parquet(path),
        )
        merged = Route(
            label="option mergeSchema",
            frame=lambda s: s.read.option("mergeSchema", "true").parquet(path),
        )
        text = Route(label="FROM parquet.`path`", frame=lambda s: s.sql(f"FROM parquet.`{path}`"))
        view = Route(label="a temporary view", frame=self._by_view)
        nested = Route(
            label="option recursiveFileLookup",
            frame=lambda s: s.read.option("recursiveFileLookup", "true").parquet(path),
        )
        typed = [self._typed_route() for _ in range(12 if self.theme == "defaults" else 4)]
        return [*routes, by_path, merged, text, view, nested, *typed]

    def _by_view(self, session: SparkSession) -> DataFrame:
        session.sql(f"CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT * FROM {self.entries[0]}")
        return session.table("seen")

    def _typed_route(self) -> Route:
        """A schema that the user gives: some columns, in any order and case, of other types."""
        path, declared = str(self.location), []
        count = self.drawn.choice((len(self.fields), self.drawn.randrange(1, len(self.fields) + 1)))
        fields = self.drawn.sample(self.fields, count)
        for at in fields:
            kind = at.ddl
            others = KINDS[at.kind].read_as
            if others and not at.nested and self.drawn.random() < 0.4:
                kind = self.drawn.choice(others)
            if "CHAR" in kind:
                # such a schema may not have any
                kind = "STRING"
            name = at.name.upper() if self.drawn.random() < 0.1 else at.name
            other = Field(name=name, kind=at.kind, ddl=kind, nested=at.nested)
            declared.append(other.declared)
        schema = ", ".join(["id INT", *declared])
        return Route(
            label=f"spark.read.schema({schema!r}).parquet(path)",
            frame=lambda s: s.read.schema(schema).parquet(path),
        )


def _refreshed(name: str) -> Callable[[SparkSession], DataFrame]:
    def frame(session: SparkSession) -> DataFrame:
        session.catalog.refreshTable(name)
        return session.table(name)

    return frame


def _listed_before(name: str) -> Callable[[SparkSession], DataFrame]:
    return lambda session: session.table(name)
