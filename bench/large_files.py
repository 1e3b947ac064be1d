"""Queries of tables with large data files: an index of data files, and one of row blocks."""

from __future__ import annotations

import random
import time
from itertools import repeat
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

import lakesieve as ls
from bench.measure import Measured, in_turn, note

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

__all__ = ["ROWS", "run"]

ROWS = 30_000_000
KINDS = ("parquet", "delta", "iceberg")
"""Formats that one session can have."""

SIZES = (128, 512)
"""Sizes of data files in megabytes."""

_BYTES_A_ROW = 105
_KEYS = 1000
_PRIME = 999_999_999_989
# by_file and by_block have the same values, which no other column has
_COLUMNS = (
    f"(id * 2654435761) % {_PRIME} AS by_file",
    f"(id * 2654435761) % {_PRIME} AS by_block",
    "timestamp_seconds(1700000000 + id DIV 7) AS moment",
    "CAST(id % 100003 AS INT) AS customer",
    "CAST(pmod(hash(id), 10000000) / 100 AS DECIMAL(12, 2)) AS amount",
    "element_at(array('new', 'paid', 'sent', 'back'), CAST(id % 4 + 1 AS INT)) AS status",
    "uuid() AS request",
    "concat('order note ', pmod(xxhash64(id), 1000000007)) AS note",
    "rand(7) AS score",
    "id % 11 = 0 AS flag",
)


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
    files = max(1, round(rows * _BYTES_A_ROW / size / 1e6))
    made = spark.range(0, rows, 1, files).selectExpr(*_COLUMNS)
    table, name = _write(spark, made, root, kind)
    seconds, bits = {}, {}
    for column, unit in (("by_file", None), ("by_block", 20_000)):
        start = time.perf_counter()
        info = ls.create_index(table, column, spark=spark, rows_per_block=unit).info()
        seconds[column], bits[column] = time.perf_counter() - start, info.bits_per_row
    what = f"{kind}, {size} MB"
    sizes = {"files": files, "rows": rows}
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
    some = [drawn.randrange(rows) * 2654435761 % _PRIME for _ in range(_KEYS)]
    point = some[0]
    yield from _queries(spark, root, name, f"{what}: a point", f"= {point}", at_least=10)
    listed = f"IN ({', '.join(map(str, some))})"
    yield from _queries(spark, root, name, f"{what}: IN of {_KEYS} keys", listed, at_least=10)
    _drop(spark, root, kind)


def _queries(
    spark: SparkSession, root: Path, name: str, what: str, condition: str, *, at_least: float
) -> Iterator[Measured]:
    """Query both columns in turn, and a table of the wanted blocks only, which is the floor."""
    ls.enable(spark)
    found = ls.find_files(_given(name), f"by_block {condition}", spark=spark)
    note(f"{what}: {found.rows_read} of {found.rows_total} rows in {len(found.paths)} files")
    wanted = f"by_block {condition}"
    # a path of its own each time: an older listing of files may be cached
    floor = root / f"floor-{time.time_ns()}"
    _write_blocks(found, name, floor)

    def of(column: str) -> list[object]:
        return spark.sql(f"SELECT * FROM {name} WHERE {column} {condition}").collect()

    def least() -> list[object]:
        return spark.read.parquet(str(floor)).where(wanted).collect()

    if not sorted(map(str, of("by_file"))) == sorted(map(str, of("by_block"))):
        raise AssertionError("the two indexes give other rows")
    pruned = ls.last_pruning(spark)[0]
    times = in_turn(
        {"files": lambda: of("by_file"), "blocks": lambda: of("by_block"), "blocks alone": least}
    )
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
        at_least=at_least,
        details=details,
    )


def _write_blocks(found: ls.FileMatches, name: str, folder: Path) -> None:
    """Write the rows of the wanted blocks as a Parquet file of its own."""
    folder.mkdir()
    table_folder = name.partition(".")[2].strip("`")
    parts = []
    for path, ranges in zip(found.paths, found.row_ranges or repeat(None), strict=False):
        plain = path.removeprefix("file:")
        file = plain if plain.startswith("/") else f"{table_folder}/{plain}"
        rows = pq.read_table(file, coerce_int96_timestamp_unit="us")
        whole = ((0, rows.num_rows),)
        parts += [rows.slice(start, end - start) for start, end in ranges or whole]
    pq.write_table(pa.concat_tables(parts), folder / "0.parquet", write_page_index=True)


def _given(name: str) -> str:
    kind, _, path = name.partition(".")
    return f"{kind}:{path.strip('`')}" if path.startswith("`") else name


def _write(spark: SparkSession, rows: DataFrame, root: Path, kind: str) -> tuple[str, str]:
    """Write the rows. Return the table as lakesieve names it, and as SQL does."""
    if kind == "iceberg":
        spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.bench")
        writer = rows.writeTo("lake.bench.large").using("iceberg")
        writer.tableProperty("write.distribution-mode", "none").createOrReplace()
        return "lake.bench.large", "lake.bench.large"
    path = root / f"large-{kind}"
    rows.write.format(kind).options(**_OPTIONS.get(kind, {})).mode("overwrite").save(str(path))
    if kind == "hudi":
        # Spark's SQL reads no Hudi table by its path
        name = "spark_catalog.default.large"
        spark.sql(f"DROP TABLE IF EXISTS {name}")
        spark.sql(f"CREATE TABLE {name} USING hudi LOCATION '{path}'")
        return f"{kind}:{path}", name
    return f"{kind}:{path}", f"{kind}.`{path}`"


def _drop(spark: SparkSession, root: Path, kind: str) -> None:
    import shutil

    if kind == "iceberg":
        spark.sql("DROP TABLE lake.bench.large PURGE")
    else:
        shutil.rmtree(root / f"large-{kind}")
