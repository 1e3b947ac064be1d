"""Drawn folders of partitions: read without a session as by Spark, or refused by name."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.depth import depth

import lakesieve as ls
from lakesieve.engines.table_rows import rows_of
from lakesieve.errors import LakesieveError
from lakesieve.predicate.expression import Constant
from lakesieve.spark.tables import open_table as open_with_spark
from lakesieve.tables.opening import open_table
from lakesieve.tables.parquet.partitions import partition_type

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

CASES = depth("PARTITION_CASES", test=8, soak=330)
VALUES = depth("PARTITION_VALUES", test=150, soak=3000)

SPELLINGS = {
    "integer": ("1", "+5", "-7", "007", "2147483647", "-0", "\u0661\u0662", "\uff13"),
    "long": ("3000000000", "-2147483649", "9223372036854775807"),
    "decimal": ("99999999999999999999", "1.", "1e3", "15e2", "0e5", "1.5e1", "-1e20", "\u0661e2"),
    "double": ("1.5", ".5", "1d", "1e-3", " 1", "1 ", "NaN", "-Infinity", "0x1p3", "1e400", "1f"),
    "date": ("2026-01-31", "2024-02-29", "0001-01-01", "9999-12-31"),
    "timestamp": ("2026-01-01 10%3A00%3A00", "1969-12-31 23%3A59%3A59.5"),
    "time": ("10%3A00%3A00", "23%3A59%3A59.123456", "00%3A00%3A00.5"),
    "string": (
        *("2026-W05", "2026-01-01-04", "caf%C3%A9", "caf\u00e9", "a%2Fb", "50%25", "%zz", "1L"),
        *("2026-1-1", "2026-02-30", "24%3A00%3A00", "10%3A00", "\u0661.5", "nan", "1_000", "a=b"),
        *("2026-01-01T10%3A00%3A00", "true", "null", "%31", "2026%2D01%2D01", "\U0001d7cf"),
    ),
    "null": ("__HIVE_DEFAULT_PARTITION__",),
}
SIGNS = "0123456789+-.eEdfxpNa:_ T\u0661\uff15"


def _value(drawn: random.Random, kinds: list[str]) -> str:
    value = drawn.choice(SPELLINGS[drawn.choice(kinds)])
    if drawn.random() < 0.2:
        at = drawn.randrange(len(value) + 1)
        value = value[:at] + drawn.choice(SIGNS) + value[at + drawn.randrange(2) :]
    return value or "1"


def _write(drawn: random.Random, folder: Path) -> None:
    """Some files in folders of partitions, and what lies about in such directories."""
    names = drawn.sample(["p", "Day", "a%20b", "k"], drawn.choice([1, 1, 2]))
    kinds = {name: drawn.sample(list(SPELLINGS), drawn.choice([1, 1, 2, 3])) for name in names}
    places = []
    for number in range(drawn.randint(1, 5)):
        parts = [f"{name}={_value(drawn, kinds[name])}" for name in names]
        if drawn.random() < 0.1:
            parts.insert(drawn.randrange(len(parts) + 1), drawn.choice(["sub", "_old", "x=1"]))
        place = folder.joinpath(*parts)
        place.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"k": [number, number + 1], "v": ["a", None]}), place / "0.parquet")
        places.append(place)
    for litter in ("9-empty.parquet", "_SUCCESS", ".0.parquet.crc", "p=1_$folder$"):
        if drawn.random() < 0.3:
            drawn.choice(places).joinpath(litter).touch()
    if drawn.random() < 0.3:
        (folder / f"{places[0].relative_to(folder).parts[0]}_$folder$").touch()


def _spark_rows(spark: SparkSession, folder: Path) -> pa.Table:
    frame: Any = spark.read.parquet(str(folder))
    return frame.toArrow()


def _texts(rows: pa.Table) -> list[str]:
    return sorted(map(repr, rows.to_pylist()))


def _check(spark: SparkSession, folder: Path, story: str) -> str:
    """Compare both readers of a directory; tells how it ended."""
    name = f"parquet:{folder}"
    try:
        theirs = _spark_rows(spark, folder)
    except Exception:  # noqa: BLE001 - whatever Spark refuses is to be refused by name
        try:
            rows_of(open_table(name, warehouse=""), None).batches(Constant(value=True))
        except LakesieveError:
            return "refused by both"
        return "read"
    with_spark, without = open_with_spark(spark, name), open_table(name)
    mine, own = with_spark.reader.version(), without.version()
    assert dict(without.columns(own)) == dict(with_spark.reader.columns(mine)), story
    listed = [
        sorted(t.live_files(v)["path"].to_pylist())
        for t, v in ((with_spark.reader, mine), (without, own))
    ]
    assert listed[0] == listed[1], story
    found = ls.find_files(name, "v = 'a'")
    assert sorted(found.paths) == sorted(ls.find_files(name, "v = 'a'", spark=spark).paths), story
    rows = rows_of(open_table(name, warehouse=""), None)
    assert rows.schema.names == theirs.column_names, story
    zoned = [f.name for f in rows.schema if pa.types.is_timestamp(f.type)]
    wanted = [n for n in theirs.column_names if n not in zoned]
    schema, batches = rows.batches(Constant(value=True), wanted)
    assert _texts(pa.Table.from_batches(batches, schema)) == _texts(theirs.select(wanted)), story
    return "but for times" if zoned else "equal"


def test_directories_are_read_as_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Columns, types, files and rows of drawn directories are Spark's, or both refuse them."""
    ended: dict[str, int] = {}
    first = depth("FIRST_CASE", test=0, soak=0)
    for case in range(first, first + CASES):
        folder = tmp_path / str(case)
        _write(random.Random(f"partitions {case}"), folder)
        files = sorted(
            str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()
        )
        how = _check(spark, folder, f"case {case}: {files}")
        ended[how] = ended.get(how, 0) + 1
    assert ended.get("equal", 0) > CASES // 2, ended


def test_values_of_two_types(spark: SparkSession, tmp_path: Path) -> None:
    """Two values of different types have the type that Spark gives their column."""
    pairs = [
        *[("3000000000", "1.5"), ("1", "1.5"), ("1", "3000000000"), ("1", "1" * 30)],
        *[("3000000000", "1" * 30), ("2026-01-01", "2026-01-01 00:00:00"), ("1.5", "x")],
        ("2026-W05", "2026-01-01"),
    ]
    for number, pair in enumerate(pairs):
        for value in pair:
            folder = tmp_path / str(number) / f"p={value}"
            folder.mkdir(parents=True)
            pq.write_table(pa.table({"v": ["a"]}), folder / "f.parquet")
        ended = _check(spark, tmp_path / str(number), f"{pair}")
        assert ended in {"equal", "but for times"}, pair


def test_types_are_inferred_as_by_spark(spark: SparkSession) -> None:
    """Spark's own inference of drawn values of a partition gives the same types."""
    jvm: Any = spark._jvm
    java = jvm.org.apache.spark.sql.execution.datasources
    utils = getattr(java, "PartitioningUtils$").__getattr__("MODULE$")
    util = jvm.org.apache.spark.sql.catalyst.util
    zone = jvm.java.time.ZoneId.of("UTC")
    days = getattr(util, "DateFormatter$").__getattr__("MODULE$").apply("yyyy-MM-dd", False)
    moments = getattr(util, "TimestampFormatter$").__getattr__("MODULE$")
    moments = moments.apply("yyyy-MM-dd HH:mm:ss[.S]", zone, True)
    times = getattr(util, "TimeFormatter$").__getattr__("MODULE$").apply("HH:mm:ss[.SSSSSS]", True)
    drawn = random.Random("types of partitions")
    every = list(SPELLINGS)
    values = {one for kind in SPELLINGS.values() for one in kind}
    values |= {_value(drawn, every) for _ in range(VALUES)}
    # Spark computes on numbers of that many digits for hours
    for value in sorted(one for one in values if not one.lower().partition("e")[2][4:]):
        kind = utils.inferPartitionColumnValue(value, True, zone, days, moments, times)
        assert partition_type([value]) == kind.json().strip('"'), value
