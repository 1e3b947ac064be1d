"""Random lives of tables: inserts, deletes of all kinds, evolution of schema and partitions."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.spark.deletes.kit import EqualityDeletes, load

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Story"]

# column: SQL type, values as SQL, the same values as Iceberg's JSON
DOMAINS: dict[str, tuple[str, list[tuple[str, Any]]]] = {
    "k": ("INT", [(str(n), n) for n in range(12)]),
    "s": ("STRING", [(f"'k{n}'", f"k{n}") for n in range(5)] + [("'ü'", "ü"), ("''", "")]),
    "p": ("INT", [(str(n), n) for n in range(3)]),
    "d": ("DATE", [(f"DATE'2024-03-0{n}'", f"2024-03-0{n}") for n in range(1, 5)]),
    "m": ("DECIMAL(9,2)", [("1.50", "1.50"), ("-2.25", "-2.25"), ("1000.00", "1000.00")]),
    "f": ("FLOAT", [(f"CAST('{n}' AS FLOAT)", n) for n in (0.5, -3.0, 0.0, -0.0, 7.25)]),
    "t": (
        "TIMESTAMP",
        [
            (f"TIMESTAMP'2024-03-10 0{n}:30:00.000001Z'", f"2024-03-10T0{n}:30:00.000001+00:00")
            for n in range(6, 9)
        ],
    ),
    "b": ("BOOLEAN", [("true", True), ("false", False)]),
    "y": ("BINARY", [("X'00'", "00"), ("X'FF01'", "FF01"), ("X''", "")]),
}
KEYS = (("k",), ("s",), ("k", "p"), ("d", "b"), ("m",), ("f",), ("t",), ("y", "s"), ("p", "s", "k"))
PARTITIONINGS = ("", "p", "bucket(2, k)", "p, truncate(1, s)", "days(t)", "b")
PROMOTIONS = {"k": "BIGINT", "f": "DOUBLE", "m": "DECIMAL(18,2)"}


@dataclass(slots=True)
class Story:
    """One table's life, drawn from a seed.

    Args:
        spark: The session.
        table: Name of the table, which must not exist.
        seed: Draws everything.
        version: Of Iceberg's format; drawn, 2 or 3, by default. In version 1 deletes rewrite files.
    """

    spark: SparkSession
    table: str
    seed: int
    version: int = 0
    names: dict[str, str] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    # by the path of a delete file: its rows, columns by their first names
    deleted: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    draw: random.Random = field(init=False)
    deletes: EqualityDeletes = field(init=False)
    format: str = field(init=False)

    def __post_init__(self) -> None:
        self.draw = random.Random(self.seed)
        self.deletes = EqualityDeletes(self.spark, self.table)
        self.version = self.version or 2 + self.seed % 2
        mode = "copy-on-write" if self.version == 1 else "merge-on-read"
        self.format = ("parquet", "orc", "avro")[self.seed // 2 % 3]
        self.names = {column: column for column in DOMAINS}
        columns = ", ".join(f"{c} {kind}" for c, (kind, _) in DOMAINS.items())
        by = self.draw.choice(PARTITIONINGS)
        self._sql(
            f"CREATE TABLE {self.table} ({columns}, n BIGINT) USING iceberg "
            f"{f'PARTITIONED BY ({by})' if by else ''} TBLPROPERTIES ("
            f"'format-version'='{self.version}', 'write.delete.mode'='{mode}', "
            f"'write.format.default'='{self.format}', 'write.distribution-mode'='none')"
        )
        self._insert()

    def live(self, steps: int) -> None:
        """Do some steps; at least every third is an equality delete."""
        for step in range(steps):
            if step % 3 == 1:
                self._delete()
            else:
                self._step()

    def upgrade(self) -> None:
        """Go from version 1 to version 2, which keeps its manifests."""
        self._sql(
            f"ALTER TABLE {self.table} SET TBLPROPERTIES ("
            "'format-version'='2', 'write.delete.mode'='merge-on-read')"
        )
        self.version = 2

    def _step(self) -> None:
        chance = self.draw.random()
        if chance < 0.3:
            self._insert()
        elif chance < 0.6:
            self._delete()
        elif chance < 0.7:
            self._sql(f"DELETE FROM {self.table} WHERE n % 7 = {self.draw.randrange(7)}")
        elif chance < 0.78:
            self._rename()
        elif chance < 0.84:
            self._promote()
        elif chance < 0.92:
            self._repartition()
        elif chance < 0.96:
            self._drop()
        else:
            self.tags.append(f"tag{len(self.tags)}")
            self._sql(f"ALTER TABLE {self.table} CREATE TAG {self.tags[-1]}")

    def _insert(self) -> None:
        rows = []
        for _ in range(self.draw.randrange(5, 40)):
            values = [self._value(column)[0] for column in self.names]
            rows.append(f"({', '.join(values)}, {self.draw.randrange(1000)})")
        self._sql(
            f"INSERT INTO {self.table} ({', '.join(self.names.values())}, n) "
            f"VALUES {', '.join(rows)}"
        )

    def _value(self, column: str) -> tuple[str, Any]:
        if self.draw.random() < 0.12:
            return ("NULL", None)
        return self.draw.choice(DOMAINS[column][1])

    def _delete(self) -> None:
        if self.version == 1:
            self._sql(f"DELETE FROM {self.table} WHERE n % 3 = {self.draw.randrange(3)}")
            return
        known = [keys for keys in KEYS if set(keys) <= set(self.names)]
        keys = self.draw.choice(known)
        count = self.draw.randrange(1, 4)
        rows = [[self._value(column)[1] for column in keys] for _ in range(count)]
        partitions = self.deletes.partitions()
        everywhere = self.deletes.everywhere()
        if everywhere is not None:
            partitions += [everywhere] * 2
        partition = self.draw.choice(partitions) if partitions else everywhere
        if partition is None:
            return
        self.log.append(f"delete {keys} {rows} at {partition}")
        path = self.deletes.delete(
            [self.names[c] for c in keys], rows, partition=partition, format=self.format
        )
        self.deleted[path] = [dict(zip(keys, row, strict=True)) for row in rows]

    def _rename(self) -> None:
        column = self.draw.choice(list(self.names))
        new = f"{column}{self.draw.randrange(1000)}"
        self._sql(f"ALTER TABLE {self.table} RENAME COLUMN {self.names[column]} TO {new}")
        self.names[column] = new

    def _promote(self) -> None:
        known = [column for column in PROMOTIONS if column in self.names]
        if known:
            column = self.draw.choice(known)
            self._sql(
                f"ALTER TABLE {self.table} ALTER COLUMN {self.names[column]} "
                f"TYPE {PROMOTIONS[column]}"
            )

    def _repartition(self) -> None:
        fields = [
            str(f.name())
            for f in load(self.spark, self.table).spec().fields()
            if str(f.transform()) != "void"
        ]
        if fields:
            self._sql(f"ALTER TABLE {self.table} DROP PARTITION FIELD {self.draw.choice(fields)}")
            return
        column = self.draw.choice([c for c in ("p", "b", "s") if c in self.names])
        name = f"by{len(self.log)}"
        self._sql(f"ALTER TABLE {self.table} ADD PARTITION FIELD {self.names[column]} AS {name}")

    def _drop(self) -> None:
        """Drop a column that deletes may compare, unless a partition is made of it."""
        column = self.draw.choice([c for c in ("d", "y", "m", "f") if c in self.names] or [""])
        if column:
            self._sql(f"ALTER TABLE {self.table} DROP COLUMN {self.names.pop(column)}")

    def _sql(self, text: str) -> None:
        self.log.append(text)
        self.spark.sql(text)
