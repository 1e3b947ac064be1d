"""Iceberg tables with files of others: added as they are, without ids, under changing schemas."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.spark.foreign.parquet import folder_of
from tests.spark.foreign.story import Route, Story
from tests.spark.foreign.values import KINDS, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

__all__ = ["IcebergStory"]

_WIDER = {"INT": "BIGINT", "FLOAT": "DOUBLE", "DECIMAL(9,2)": "DECIMAL(12,2)"}


class IcebergStory(Story):
    """A table that Spark writes to, and that files of other programs are added to."""

    format = "iceberg"
    encodes_paths = False

    def make(self) -> None:
        self.name = f"lake.foreign.{self.table}"
        self.stored: dict[str, str] = {}
        self.old: list[str] = []
        self.partition = self.drawn.choice((None, None, "p", "bucket(2, a)"))
        self.draw_columns()
        if self.partition == "bucket(2, a)":
            self.fields[0] = Field(name="a", kind="int", ddl="INT")
        if self.partition == "p":
            kind = self.drawn.choice(("int", "string", "date"))
            self.fields.append(Field(name="p", kind=kind, ddl=KINDS[kind].ddl))
        self._create()

    def _create(self) -> None:
        by = f"PARTITIONED BY ({self.partition})" if self.partition else ""
        version, mode = (
            self.drawn.choice("23"),
            self.drawn.choice(("merge-on-read", "copy-on-write")),
        )
        declared = ", ".join(["id INT", *(at.declared for at in self.fields)])
        self.stored = {at.name: at.name for at in self.fields}
        self.sql(
            f"CREATE TABLE {self.name} ({declared}) USING iceberg {by} TBLPROPERTIES ("
            f"'format-version'='{version}', 'write.delete.mode'='{mode}', "
            "'write.distribution-mode'='none', 'write.spark.fanout.enabled'='true')"
        )
        for _ in range(self.drawn.choice((2, 3))):
            self.drawn.choice((self._insert, self._add_files))()

    def forget(self) -> None:
        self.spark.sql(f"DROP TABLE IF EXISTS {self.name} PURGE")

    # steps

    def steps(self) -> Sequence[Callable[[], None]]:
        return [
            self._insert,
            self._add_files,
            self._add_files,
            self._rename,
            self._drop_and_add,
            self._take_over,
            self._add_column,
            self._add_default,
            self._widen,
            self._reorder,
            self._delete,
            self._compact,
            *([self._recreate] if self.drawn.random() < 0.3 else []),
        ]

    def _insert(self) -> None:
        head = self.spark.sql(
            f"SELECT max_by(snapshot_id, committed_at) FROM {self.name}.snapshots"
        )
        self.old += [str(row[0]) for row in head.collect() if row[0]]
        self.sql(f"INSERT INTO {self.name} BY NAME {self.staged()}")

    def _add_files(self) -> None:
        """Files that have no field ids: columns are found by the names that they had."""
        source = self.folder / f"added {self._rows}"
        fields, rows = list(self.fields), self.rows()
        location = source
        if self.partition == "p":
            # every row of the file is of the folder, which alone says so
            value: Any = self.drawn.choice(KINDS[self._field("p").kind].values)
            location = source / folder_of("p", value)
            rows = rows.drop_columns(["p"])
            fields = [at for at in fields if at.name != "p"]
        if len(fields) > 1 and self.drawn.random() < 0.2:
            rows = rows.drop_columns([self.drawn.choice(fields).name])
        if self.drawn.random() < 0.3:
            rows = rows.rename_columns([self.stored.get(at, at) for at in rows.column_names])
        if self.drawn.random() < 0.1:
            rows = rows.rename_columns([at.upper() for at in rows.column_names])
        self.write(location / "f.parquet", rows)
        if self.partition and self.partition != "p":
            self.sql(f"INSERT INTO {self.name} BY NAME {self.staged()}")
            return
        self.sql(
            f"CALL lake.system.add_files(table => '{self.name}', "
            f"source_table => '`parquet`.`{source}`', check_duplicate_files => false)"
        )

    def _field(self, name: str) -> Field:
        return next(at for at in self.fields if at.name == name)

    def _free(self) -> list[Field]:
        return [at for at in self.fields if at.name not in ("p", "a")] or self.fields

    def _rename(self) -> None:
        at = self.drawn.choice(self._free())
        new = f"r{self._rows}"
        self.sql(f"ALTER TABLE {self.name} RENAME COLUMN {at.name} TO {new}")
        self.stored[new] = self.stored.pop(at.name, at.name)
        at.name = new

    def _take_over(self) -> None:
        """Another column gets the name that one had in files without ids."""
        at = self.drawn.choice(self._free())
        old = at.name
        self._rename()
        if any(one.name == old for one in self.fields):
            return
        other = Field(name=old, kind=at.kind, ddl=at.ddl, nested=at.nested)
        self.sql(f"ALTER TABLE {self.name} ADD COLUMN {other.declared}")
        self.fields.append(other)
        for name, stored in self.stored.items():
            self.stored[name] = name if stored == old else stored

    def _drop_and_add(self) -> None:
        at = self.drawn.choice(self._free())
        self.sql(f"ALTER TABLE {self.name} DROP COLUMN {at.name}")
        self.sql(f"ALTER TABLE {self.name} ADD COLUMN {at.declared}")

    def _add_column(self) -> None:
        kind = self.drawn.choice(("int", "string", "char"))
        at = Field(name=f"n{len(self.fields)}", kind=kind, ddl=KINDS[kind].ddl)
        self.sql(f"ALTER TABLE {self.name} ADD COLUMN {at.declared}")
        self.fields.append(at)

    def _add_default(self) -> None:
        """What Spark's SQL cannot say: older files read as if they had this value."""
        jvm: Any = self.spark._jvm
        name = f"d{len(self.fields)}"
        iceberg = jvm.org.apache.iceberg
        table = iceberg.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, self.name)
        table.updateProperties().set("format-version", "3").commit()
        value = iceberg.expressions.Expressions.lit(5)
        self.log.append(f"add {name} INT with the default 5")
        kind = getattr(iceberg.types, "Types$IntegerType").get()
        table.updateSchema().addColumn(name, kind, value).commit()
        self.fields.append(Field(name=name, kind="int", ddl="INT", extra=[5]))
        for session in self.sessions:
            session.catalog.refreshTable(self.name)

    def _widen(self) -> None:
        fields = [at for at in self.fields if at.ddl in _WIDER]
        if fields:
            at = self.drawn.choice(fields)
            kind = _WIDER[at.ddl]
            self.sql(f"ALTER TABLE {self.name} ALTER COLUMN {at.key} TYPE {kind}")
            at.ddl = kind

    def _reorder(self) -> None:
        self.sql(
            f"ALTER TABLE {self.name} ALTER COLUMN {self.drawn.choice(self.fields).name} FIRST"
        )

    def _delete(self) -> None:
        self.sql(f"DELETE FROM {self.name} WHERE id % 5 = {self.drawn.randrange(5)}")

    def _compact(self) -> None:
        self.sql(
            f"CALL lake.system.rewrite_data_files(table => '{self.name}', "
            "options => map('rewrite-all', 'true'))"
        )

    def _recreate(self) -> None:
        self.sql(f"DROP TABLE {self.name}")
        self.old = []
        self._create()

    # ways to read

    def names(self) -> Sequence[str]:
        return [self.name, f"iceberg:{self._table_location()}"]

    def _table_location(self) -> str:
        warehouse = self.spark.conf.get("spark.sql.catalog.lake.warehouse")
        return f"{warehouse}/foreign/{self.table}"

    def routes(self) -> Sequence[Route]:
        name, location = self.name, self._table_location()

        def fresh(session: SparkSession) -> Any:
            session.catalog.refreshTable(name)
            return session.table(name)

        def by_view(session: SparkSession) -> Any:
            session.sql(f"CREATE OR REPLACE TEMPORARY VIEW seen AS SELECT * FROM {name}")
            return session.table("seen")

        routes = [
            Route(label=f"refreshed {name}", name=name, frame=fresh),
            Route(label=name, frame=lambda s: s.table(name)),
            Route(label="a temporary view", frame=by_view),
            Route(
                label="spark.read.format('iceberg').load(path)",
                name=f"iceberg:{location}",
                frame=lambda s: s.read.format("iceberg").load(location),
            ),
        ]
        if self.old:
            old = self.drawn.choice(self.old)
            routes.append(
                Route(
                    label=f"VERSION AS OF {old}",
                    frame=lambda s: s.sql(f"SELECT * FROM {name} VERSION AS OF {old}"),
                )
            )
        return routes
