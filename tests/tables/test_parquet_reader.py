"""Directories of Parquet files without an engine: what Spark lists, and its schema."""

from __future__ import annotations

import json
import math
import os
from datetime import date, time
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from lakesieve.errors import ErrorKind, LakesieveError, NotFoundError
from lakesieve.tables.opening import open_table
from lakesieve.tables.parquet.partitions import partition_type, partition_value
from lakesieve.tables.parquet.table import version_of

if TYPE_CHECKING:
    from pathlib import Path

ROWS = pa.table({"k": [1, 2], "s": ["a", None]})


def _write(folder: Path, *names: str, rows: pa.Table = ROWS) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(rows, path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with unusual characters in its name."""
    return tmp_path / "ä b%25+1"


def _paths(folder: Path) -> list[str]:
    table: Any = open_table(f"parquet:{folder}")
    listed = table.live_files(table.version()).column("location").to_pylist()
    return sorted(path.removeprefix(f"file:{folder}/") for path in listed)


def test_hidden_names_are_left_out(folder: Path) -> None:
    """Names with a leading dot or underscore are not data, nor files in such folders."""
    _write(folder, "b.parquet", "a x.parquet", "_c.parquet", ".d.parquet", "e.parquet._COPYING_")
    _write(folder, "_lakesieve/i/x.parquet", "_temporary/0/y.parquet", "in/z.parquet")

    # a folder of a partition beside files
    _write(folder, "k=1/p.parquet")
    with pytest.raises(LakesieveError, match="partitioned in different ways"):
        _paths(folder)
    (folder / "k=1" / "p.parquet").unlink()
    assert _paths(folder) == ["a x.parquet", "b.parquet"]


def test_partitions(folder: Path) -> None:
    """Partition values are encoded in the names of folders, and their columns cannot be keys."""
    names = [f"day={day}/p={p}/f.parquet" for day in ("2020-01-01", "2021-02-03") for p in "12"]
    _write(folder, *names, "day=2020-01-01/p=__HIVE_DEFAULT_PARTITION__/a%20b.parquet")
    table = open_table(f"parquet:{folder}")
    columns = table.columns(table.version())

    assert _paths(folder) == sorted(
        [*names, "day=2020-01-01/p=__HIVE_DEFAULT_PARTITION__/a%20b.parquet"]
    )
    assert {path[0]: (c.type, c.kind) for path, c in columns.items()} == {
        "k": ("long", "integer"),
        "s": ("string", "string"),
        "day": ("date", "other"),
        "p": ("integer", "other"),
    }


NULL = "__HIVE_DEFAULT_PARTITION__"


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (["1", "2"], "integer"),
        (["1", "3000000000"], "long"),
        (["1", "1.5"], "double"),
        (["99999999999999999999"], "decimal(20,0)"),
        (["2020-01-01"], "date"),
        (["2020-01-01 10:00:00"], "timestamp"),
        (["2020-01-01", "2020-01-01 10:00:00"], "timestamp"),
        (["1", "a"], "string"),
        (["a", NULL], "string"),
        ([NULL], "void"),
        (["1", NULL], "integer"),
        (["2026-W05"], "string"),
        (["2026-01-01-04"], "string"),
        (["3000000000", "1.5"], "string"),
        (["1."], "decimal(1,0)"),
        (["1.", "1"], "decimal(10,0)"),
        (["1.", "3000000000"], "decimal(20,0)"),
        (["1.", "1.5"], "string"),
        (["+5"], "integer"),
        (["1d"], "double"),
        (["1e3"], "decimal(4,0)"),
        (["1e3", "1"], "decimal(10,0)"),
        (["NaN"], "double"),
        (["nan"], "string"),
        ([" 1"], "double"),
        (["\u0661"], "integer"),
        (["10:00:00"], "time(6)"),
        (["10%3A00%3A00.5", NULL], "time(6)"),
        (["10:00:00", "1"], "string"),
        (["caf%C3%A9"], "string"),
        (["+12026-01-01"], "date"),
        (["2026-02-30"], "string"),
        (["2026-01-01 10:00:00.55"], "string"),
    ],
)
def test_types_of_partitions(values: list[str], kind: str) -> None:
    """The type is the one that Spark infers from all values together."""
    assert partition_type(values) == kind


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        ("caf%C3%A9", "string", "caf\u00c3\u00a9"),
        ("50%25", "string", "50%"),
        ("%zz", "string", "%zz"),
        ("1", "string", "1"),
        ("+5", "integer", 5),
        ("\u0661\u0662", "long", 12),
        ("1e3", "decimal(10,0)", Decimal(1000)),
        ("1d", "double", 1.0),
        (" 1", "double", 1.0),
        ("-0x1p3d", "double", -8.0),
        ("1e400", "double", math.inf),
        ("2024-02-29", "date", date(2024, 2, 29)),
        ("10%3A00%3A00.5", "time(6)", time(10, 0, 0, 500_000)),
        (NULL, "integer", None),
    ],
)
def test_values_of_partitions(value: str, kind: str, expected: object) -> None:
    """Values are read like in Spark; an escape is a character, not a byte of UTF-8."""
    read: Any = partition_value(value, kind, "p")
    assert read.as_py() == expected


def test_a_value_of_another_type_is_refused() -> None:
    """Digits of another script are an integer but not a double, so Spark fails on a mix."""
    assert partition_type(["\u0661", "1.5"]) == "double"
    with pytest.raises(LakesieveError, match="does not fit the column's type double"):
        partition_value("\u0661", "double", "p")


@pytest.mark.parametrize(
    "names",
    [
        ("s1/p=1/a", "s2/p=1/a"),
        ("p=1/a", "p=1/q=2/a"),
        ("p=1/P=2/a",),
        ("p=/a",),
        ("=1/a", "b"),
        ("P=1/a", "p=2/a"),
    ],
)
def test_folders_that_spark_refuses(folder: Path, names: tuple[str, ...]) -> None:
    """Folders of several tables, or with an incomplete name, are refused by name."""
    _write(folder, *names)
    with pytest.raises(LakesieveError) as caught:
        open_table(f"parquet:{folder}")
    assert caught.value.kind is ErrorKind.UNSUPPORTED_TABLE


def test_a_name_twice_is_refused(folder: Path) -> None:
    """Spark does not read files with columns that differ only in case."""
    _write(folder, "a.parquet", rows=pa.table({"k": [1], "K": [2]}))
    with pytest.raises(LakesieveError, match="two columns with the name k"):
        open_table(f"parquet:{folder}").version()


def test_types_of_columns(folder: Path) -> None:
    """A file that Spark has not written gets Spark's types for Parquet's types."""
    fields = {
        "tiny": pa.int8(),
        "small": pa.int16(),
        "int": pa.int32(),
        "long": pa.int64(),
        "utiny": pa.uint8(),
        "usmall": pa.uint16(),
        "uint": pa.uint32(),
        "ulong": pa.uint64(),
        "real": pa.float32(),
        "double": pa.float64(),
        "flag": pa.bool_(),
        "day": pa.date32(),
        "moment": pa.timestamp("us", "UTC"),
        "plain": pa.timestamp("us"),
        "money": pa.decimal128(9, 2),
        "text": pa.string(),
        "data": pa.binary(),
        "fixed": pa.binary(4),
        "inner": pa.struct({"x": pa.int32()}),
        "many": pa.list_(pa.int32()),
        "pairs": pa.map_(pa.string(), pa.int32()),
        "fixed_list": pa.list_(pa.int32(), 2),
        "view": pa.string_view(),
        "json": pa.json_(pa.string()),
        "nothing": pa.null(),
        "span": pa.duration("us"),
        "nanos": pa.timestamp("ns"),
        "nanos_zoned": pa.timestamp("ns", "UTC"),
        "clock": pa.time64("us"),
    }
    _write(folder, "f.parquet", rows=pa.schema(fields).empty_table())
    table = open_table(f"parquet:{folder}")
    found = {".".join(path): c.type for path, c in table.columns(table.version()).items()}

    assert found == {
        "tiny": "byte",
        "small": "short",
        "int": "integer",
        "long": "long",
        "utiny": "short",
        "usmall": "integer",
        "uint": "long",
        "ulong": "decimal(20,0)",
        "real": "float",
        "double": "double",
        "flag": "boolean",
        "day": "date",
        "moment": "timestamp",
        "plain": "timestamp_ntz",
        "money": "decimal(9,2)",
        "text": "string",
        "data": "binary",
        "fixed": "binary",
        "inner": "struct",
        "inner.x": "integer",
        "many": "array",
        "pairs": "map",
        "fixed_list": "array",
        "view": "string",
        "json": "string",
        "nothing": "integer",
        "span": "long",
        # INT64 with nanoseconds, which Spark refuses
        "nanos": "unknown",
        "nanos_zoned": "unknown",
        "clock": "unknown",
    }


def test_what_spark_wrote_counts(folder: Path) -> None:
    """Spark's schema in the footer of the first file, by name, is used if there is one."""
    document = {
        "type": "struct",
        "fields": [
            {
                "name": "k",
                "type": "long",
                "nullable": True,
                "metadata": {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"},
            },
            {"name": "s", "type": "string", "nullable": True, "metadata": {}},
        ],
    }
    key = "org.apache.spark.sql.parquet.row.metadata"
    _write(folder, "b.parquet")
    _write(folder, "a.parquet", rows=ROWS.replace_schema_metadata({key: json.dumps(document)}))
    table: Any = open_table(f"parquet:{folder}")

    assert json.loads(table.version().schema)["schema"] == document
    _write(folder, "a.parquet", rows=ROWS.replace_schema_metadata({key: "nonsense"}))
    assert [c.kind for c in table.columns(table.version()).values()] == ["integer", "string"]


def test_a_rewritten_file_is_another_one(folder: Path) -> None:
    """Size and time identify a file as well, so the version changes with a rewrite."""
    _write(folder, "a.parquet", "b.parquet")
    table = open_table(f"parquet:{folder}")
    before = table.version()
    first = table.live_files(before).column("path").to_pylist()
    os.utime(folder / "a.parquet", ns=(5_999_999, 5_999_999))
    after = table.version()
    second = table.live_files(after).column("path").to_pylist()

    assert before.id != after.id
    assert len(set(first) & set(second)) == 1
    assert f"file:{folder}/a.parquet#{(folder / 'a.parquet').stat().st_size}@5" in second


def test_names_of_versions() -> None:
    """A version's name depends on every file, but not on their order."""
    assert version_of([]) is None
    assert version_of(["a", "b", "c"]) == version_of(["c", "b", "a"])
    assert len({version_of(files) for files in (["a"], ["b"], ["a", "b"], ["a", "a"])}) == 4


def test_what_is_no_table(folder: Path) -> None:
    """A folder without files, with other files, or a missing version is an error."""
    folder.mkdir()
    with pytest.raises(NotFoundError) as empty:
        open_table(f"parquet:{folder}")
    (folder / "x.parquet").write_text("no Parquet at all")
    table = open_table(f"parquet:{folder}")
    with pytest.raises(LakesieveError) as other:
        table.version()
    _write(folder, "x.parquet")
    with pytest.raises(NotFoundError) as version:
        table.version("1")

    assert empty.value.kind is ErrorKind.TABLE_NOT_FOUND
    assert other.value.kind is ErrorKind.UNSUPPORTED_TABLE
    assert version.value.kind is ErrorKind.VERSION_NOT_FOUND
