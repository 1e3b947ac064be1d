"""The demo's table: TPC-H lineitem as an Iceberg table of many files, in order of arrival."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyarrow.dataset import dataset

from lakesieve.errors import ErrorKind, LakesieveError, SetupError, not_installed
from lakesieve.spark.versions.spark_versions import by_number

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from pyspark.sql import DataFrame, SparkSession

TABLE = "lake.tpch.lineitem"
RECALLS = "lake.tpch.recalls"
FILES_AT_SCALE_1 = 400
LAYOUT = 1
"""Raised when the table would be written differently, so that older data is not taken for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoTable:
    """The table as it was loaded."""

    scale: float  # TPC-H scale factor
    snapshot: int  # id of the snapshot that holds the loaded rows and nothing else
    rows: int  # rows in it
    files: int  # data files in it
    bytes: int  # bytes of those files
    layout: int = LAYOUT  # which version of this module wrote it


def prepare_table(
    spark: SparkSession, directory: Path, scale: float, say: Callable[[str], None]
) -> DemoTable:
    """Generate and load the table, or take the one that an earlier run left.

    A table taken over is set back to the snapshot that was loaded.
    """
    marker = directory / "lineitem.json"
    loaded = _loaded(spark, marker, scale)
    if loaded is not None:
        say(f"Reusing {TABLE} in {directory}.")
        spark.sql(f"CALL lake.system.set_current_snapshot('{TABLE}', {loaded.snapshot})")
        return loaded
    marker.unlink(missing_ok=True)
    raw = directory / "generated"
    say(f"Generating TPC-H lineitem at scale {scale:g} ...")
    generate(raw, scale)
    say(f"Loading it into the Iceberg table {TABLE}, in order of arrival ...")
    files = min(4000, max(40, round(FILES_AT_SCALE_1 * scale)))
    _load(spark, raw / "lineitem", files)
    shutil.rmtree(raw)
    loaded = _measure(spark, scale)
    _load_recalls(spark, scale)
    marker.write_text(json.dumps(asdict(loaded)), encoding="utf-8")
    return loaded


def _loaded(spark: SparkSession, marker: Path, scale: float) -> DemoTable | None:
    """Return what the marker names, if that is still there and is what is wanted."""
    try:
        loaded = DemoTable(**json.loads(marker.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        return None
    if (loaded.scale, loaded.layout) != (scale, LAYOUT) or not spark.catalog.tableExists(TABLE):
        return None
    snapshots = spark.sql(f"SELECT snapshot_id FROM {TABLE}.snapshots").collect()
    return loaded if loaded.snapshot in {row.snapshot_id for row in snapshots} else None


def generator() -> str:
    """Return the program that generates the data.

    Raises:
        SetupError: It is not installed.
    """
    beside = Path(sys.executable).with_name("tpchgen-cli")
    command = str(beside) if beside.exists() else shutil.which("tpchgen-cli")
    if command is None:
        raise not_installed("tpchgen-cli, which generates the demo's data, was not found.", "demo")
    return command


def generate(target: Path, scale: float, *, part: tuple[int, int] | None = None) -> None:
    """Write TPC-H lineitem as Parquet files into ``target / "lineitem"``.

    Args:
        target: The folder.
        scale: TPC-H's scale factor; 1 has 6 M rows.
        part: One part alone, from 1, and of how many parts. By default all rows in eight files for
            each unit of scale, at least four.
    """
    command = generator()
    number, parts = part or (None, max(4, round(8 * scale)))
    only = () if number is None else ("--part", str(number))
    done = subprocess.run(
        [
            *(command, "parquet", "--scale-factor", f"{scale:g}", "--tables", "lineitem"),
            *("--parts", str(parts), *only, "--compression", "ZSTD(1)"),
            *("--output-dir", str(target), "--overwrite", "--quiet"),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        last = (done.stderr.strip() or "no message").splitlines()[-1]
        raise SetupError(
            f"tpchgen-cli failed with status {done.returncode}: {last}",
            kind=ErrorKind.DEPENDENCY_MISSING,
            hint="Check the free space on the disk, or reinstall it: pip install -U tpchgen-cli",
        )


def _load(spark: SparkSession, source: Path, files: int) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.tpch")
    spark.sql(f"DROP TABLE IF EXISTS {TABLE} PURGE")
    arrived = in_order_of_arrival(spark.read.parquet(str(source)), files, *_receipt_dates(source))
    writer = arrived.writeTo(TABLE).using("iceberg")
    # each task holds the rows of one file already; Iceberg does not have to shuffle again
    writer.tableProperty("write.distribution-mode", "none").create()


def _receipt_dates(source: Path) -> tuple[date, date]:
    """Return the first and the last receipt date, which the files' footers hold."""
    groups = [group for file in dataset(source).get_fragments() for group in file.row_groups]
    dates = [group.statistics["l_receiptdate"] for group in groups]
    return min(each["min"] for each in dates), max(each["max"] for each in dates)


def in_order_of_arrival(lineitem: DataFrame, files: int, first: date, last: date) -> DataFrame:
    """Spread rows over partitions, one for each file to write, by the instant they arrived.

    ``first`` and ``last`` are the first and the last receipt date. A row arrives some time during
    its receipt date, about 2 % of the rows up to a year late. The instants are drawn from a hash of
    the row's identity: every run writes the same files.
    """
    identity = "xxhash64(l_orderkey, l_linenumber)"
    time_of_day = f"pmod({identity}, 1000000) / 1000000.0D"
    delay = f"IF(pmod({identity} DIV 1000000, 50) = 0, pmod({identity} DIV 100000000, 365), 0)"
    days = (last - first).days + 1
    arrival = f"datediff(l_receiptdate, DATE'{first}') + {time_of_day} + {delay}"
    arrived = lineitem.selectExpr(
        "*", f"least({arrival}, {days} - 0.000001D) AS _arrival"
    ).selectExpr("*", f"CAST(_arrival / {days} * {files} AS INT) AS _file")
    in_files = by_number(arrived, files, "_file")
    return in_files.sortWithinPartitions("_arrival").drop("_arrival", "_file")


def _measure(spark: SparkSession, scale: float) -> DemoTable:
    (snapshot,) = spark.sql(f"SELECT snapshot_id FROM {TABLE}.snapshots").collect()
    (total,) = spark.sql(
        "SELECT sum(record_count) AS rows, count(*) AS files, sum(file_size_in_bytes) AS bytes"
        f" FROM {TABLE}.files"
    ).collect()
    if not total.rows:
        raise LakesieveError(
            f"TPC-H at scale {scale:g} has no rows.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Choose a larger --scale.",
        )
    return DemoTable(
        scale=scale,
        snapshot=snapshot.snapshot_id,
        rows=total.rows,
        files=total.files,
        bytes=total.bytes,
    )


def _load_recalls(spark: SparkSession, scale: float) -> None:
    """Write a small table to join with: one part in a thousand was recalled."""
    parts = max(1000, round(200_000 * scale))
    spark.sql(f"DROP TABLE IF EXISTS {RECALLS} PURGE")
    spark.sql(
        f"CREATE TABLE {RECALLS} USING iceberg AS SELECT /*+ COALESCE(1) */ id * 1000 AS r_partkey,"
        f" concat('recall ', id) AS r_notice FROM range(1, {parts // 1000 + 1})"
    )
