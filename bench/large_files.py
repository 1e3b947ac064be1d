"""Queries of tables with large data files: an index of data files, and one of row blocks."""

from __future__ import annotations

import random
import shutil
import time
from dataclasses import dataclass
from itertools import count, islice, repeat
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import lakesieve as ls
from bench.measure import Measured, bytes_below, in_series, in_turn, note

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["COLUMNS", "ROWS", "key_of", "run"]

ROWS = 30_000_000
KINDS = ("parquet", "delta", "iceberg")
"""Formats that one session can have."""

SIZES = (128, 512)
"""Sizes of data files in megabytes."""

_SAMPLE = 1_000_000
"""Rows of a first table, which shows how large a format makes a row."""

_KEYS = 1000
_MERGED = 100
_WARM_UP = 100
# settings of tables for which a MERGE writes no data file again
_MERGE_ON_READ = {
    "iceberg": "'write.merge.mode' = 'merge-on-read'",
    "delta": "'delta.enableDeletionVectors' = 'true'",
}
_PRIME = 999_999_999_989
_FACTOR = 2654435761
COLUMNS = (
    f"(id * {_FACTOR}) % {_PRIME} AS by_file",
    f"(id * {_FACTOR}) % {_PRIME} AS by_block",
    "timestamp_seconds(1700000000 + id DIV 7) AS moment",
    "CAST(id % 100003 AS INT) AS customer",
    "CAST(pmod(hash(id), 10000000) / 100 AS DECIMAL(12, 2)) AS amount",
    "element_at(array('new', 'paid', 'sent', 'back'), CAST(id % 4 + 1 AS INT)) AS status",
    "uuid() AS request",
    "concat('order note ', pmod(xxhash64(id), 1000000007)) AS note",
    "rand(7) AS score",
    "id % 11 = 0 AS flag",
)
"""SQL of the columns over a number ``id``. The first two have the same values, each in one row."""

# one base file for each of the given partitions, in the order of the rows
_OPTIONS = {
    "hudi": {
        "hoodie.table.name": "large",
        "hoodie.datasource.write.recordkey.field": "request",
        "hoodie.datasource.write.operation": "bulk_insert",
        "hoodie.bulkinsert.sort.mode": "NONE",
        "hoodie.parquet.max.file.size": str(4 << 30),
    }
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """A table.

    Args:
        spark: The session.
        kind: The table's format.
        name: Its name in SQL.
        given: What lakesieve calls it.
        folder: Where data files with relative paths are.
    """

    spark: SparkSession
    kind: str
    name: str
    given: str
    folder: Path

    @classmethod
    def written(cls, rows: DataFrame, root: Path, kind: str) -> _Table:
        """Write rows, a data file for each partition."""
        spark = rows.sparkSession
        name = f"large_{time.time_ns()}"
        if kind == "iceberg":
            spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.bench")
            table = f"lake.bench.{name}"
            writer = rows.writeTo(table).using("iceberg")
            writer.tableProperty("write.distribution-mode", "none").create()
            return cls(spark=spark, kind=kind, name=table, given=table, folder=root)
        folder = root / name
        rows.write.format(kind).options(**_OPTIONS.get(kind, {})).save(str(folder))
        # a query of a name need not find out the columns first
        table = f"spark_catalog.default.{name}"
        spark.sql(f"CREATE TABLE {table} USING {kind} LOCATION '{folder}'")
        return cls(spark=spark, kind=kind, name=table, given=f"{kind}:{folder}", folder=folder)

    def bytes(self) -> int:
        """Return the size of the table, which has no index yet."""
        if self.kind != "iceberg":
            return bytes_below(self.folder)
        of_files = self.spark.sql(f"SELECT sum(file_size_in_bytes) FROM {self.name}.files")
        return int(of_files.collect()[0][0])

    def drop(self) -> None:
        """Delete the table."""
        self.spark.sql(f"DROP TABLE {self.name}" + " PURGE" * (self.kind == "iceberg"))
        if self.kind != "iceberg":
            shutil.rmtree(self.folder)


def key_of(row: int) -> int:
    """Return the value of ``by_file`` and ``by_block`` in a row."""
    return row * _FACTOR % _PRIME


def run(
    spark: SparkSession,
    root: Path,
    *,
    rows: int = ROWS,
    sizes: tuple[int, ...] = SIZES,
    kinds: tuple[str, ...] = KINDS,
) -> Iterator[Measured]:
    """Write the table in each format and size, index it twice, and query it in turn."""
    for size in sizes:
        for kind in kinds:
            yield from _measured(spark, root, kind, size, rows)


def _measured(
    spark: SparkSession, root: Path, kind: str, size: int, rows: int
) -> Iterator[Measured]:
    sample = _Table.written(spark.range(0, _SAMPLE, 1, 1).selectExpr(*COLUMNS), root, kind)
    files = max(1, round(rows / _SAMPLE * sample.bytes() / size / 1e6))
    sample.drop()
    made = spark.range(0, rows, 1, files).selectExpr(*COLUMNS)
    table = _Table.written(made, root, kind)
    sizes = {"files": files, "rows": rows, "a file": f"{table.bytes() / files / 1e6:.0f} MB"}
    seconds, bits = {}, {}
    for column, unit in (("by_file", None), ("by_block", 20_000)):
        start = time.perf_counter()
        info = ls.create_index(table.given, column, spark=spark, rows_per_block=unit).info()
        seconds[column], bits[column] = time.perf_counter() - start, info.bits_per_row
    what = f"{kind}, {size} MB"
    yield Measured(
        name=f"{what}: building row blocks against data files",
        value=seconds["by_block"] / seconds["by_file"],
        unit="x",
        at_most=1.2,
        details=sizes | {column: f"{taken:.1f} s" for column, taken in seconds.items()},
    )
    yield Measured(
        name=f"{what}: size of row blocks",
        value=bits["by_block"],
        unit="bits a row",
        details={"data files": f"{bits['by_file']:.2f}"},
    )
    drawn = random.Random(7)
    some = [key_of(drawn.randrange(rows)) for _ in range(_KEYS)]
    one = f"= {some[0]}"
    yield from _queries(root, table, one, what=f"{what}: a point", medians=_warm_series)
    listed = f"IN ({', '.join(map(str, some))})"
    many = f"{what}: IN of {_KEYS} keys"
    yield from _queries(root, table, listed, what=many, medians=in_turn)
    if kind in _MERGE_ON_READ:
        spark.sql(f"ALTER TABLE {table.name} SET TBLPROPERTIES ({_MERGE_ON_READ[kind]})")
        keys = (key_of(drawn.randrange(rows)) for _ in count())
        yield _merges(spark, table.name, what, keys)
    table.drop()


def _warm_series(actions: Mapping[str, Callable[[], object]]) -> Mapping[str, float]:
    """Repeat short queries until Java has compiled their code, and then time them."""
    for _ in range(_WARM_UP):
        for name in ("blocks", "blocks alone"):
            actions[name]()
    return in_series(actions)


def _queries(
    root: Path,
    table: _Table,
    condition: str,
    *,
    what: str,
    medians: Callable[[Mapping[str, Callable[[], object]]], Mapping[str, float]],
) -> Iterator[Measured]:
    """Query both columns, and a table of the wanted blocks only, which is the floor."""
    spark = table.spark
    ls.enable(spark)
    found = ls.find_files(table.given, f"by_block {condition}", spark=spark)
    note(f"{what}: {found.rows_read} of {found.rows_total} rows in {len(found.paths)} files")
    blocks = root / "blocks"
    _write_blocks(found, table.folder, blocks)
    # Hudi adds columns of its own
    columns = [column.rpartition(" AS ")[2] for column in COLUMNS]
    wanted = spark.read.parquet(str(blocks)).select(*columns).coalesce(1)
    floor = _Table.written(wanted, root, table.kind)

    def of(column: str, name: str = table.name) -> list[object]:
        return spark.sql(f"SELECT * FROM {name} WHERE {column} {condition}").collect()

    if not sorted(map(str, of("by_file"))) == sorted(map(str, of("by_block"))):
        raise AssertionError("the two indexes give other rows")
    pruned = ls.last_pruning(spark)[0]
    times = medians(
        {
            "files": lambda: of("by_file"),
            "blocks": lambda: of("by_block"),
            "blocks alone": lambda: of("by_block", floor.name),
        }
    )
    floor.drop()
    shutil.rmtree(blocks)
    details = {key: f"{1e3 * value:.0f} ms" for key, value in times.items()}
    details["rows read"] = f"{pruned.rows_read} of {pruned.rows_total}"
    yield Measured(
        name=f"{what}, against the wanted blocks alone",
        value=times["blocks"] / times["blocks alone"],
        unit="x",
        at_most=1.5,
        details=details,
    )
    yield Measured(
        name=f"{what}, speed-up by row blocks",
        value=times["files"] / times["blocks"],
        unit="x",
        at_least=10,
        details=details,
    )


def _merges(spark: SparkSession, name: str, what: str, keys: Iterator[int]) -> Measured:
    """Update rows by key in turn, by either index. The data files stay as they are."""

    def merge(column: str) -> None:
        some = ", ".join(f"({key})" for key in islice(keys, _MERGED))
        spark.sql(
            f"MERGE INTO {name} t USING (VALUES {some} AS s(k)) ON t.{column} = s.k "
            "WHEN MATCHED THEN UPDATE SET score = 0"
        )

    times = in_turn({"files": lambda: merge("by_file"), "blocks": lambda: merge("by_block")})
    return Measured(
        name=f"{what}: MERGE of {_MERGED} rows, speed-up by row blocks",
        value=times["files"] / times["blocks"],
        unit="x",
        details={key: f"{1e3 * value:.0f} ms" for key, value in times.items()},
    )


def _write_blocks(found: ls.FileMatches, source: Path, folder: Path) -> None:
    """Write the rows of the wanted blocks as a Parquet file of its own."""
    folder.mkdir()
    parts = []
    for path, ranges in zip(found.paths, found.row_ranges or repeat(None), strict=False):
        rows = pq.read_table(source / path.removeprefix("file:"), coerce_int96_timestamp_unit="us")
        whole = ((0, rows.num_rows),)
        parts += [rows.slice(start, end - start) for start, end in ranges or whole]
    pq.write_table(pa.concat_tables(parts), folder / "0.parquet", write_page_index=True)
