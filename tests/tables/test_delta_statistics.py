"""Misleading statistics in Delta logs never leave out a file with a match."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import deltalake
import pyarrow as pa
import pytest
from tests.tables.test_delta_reader import METADATA, Log, added

import lakesieve as ls

if TYPE_CHECKING:
    from pathlib import Path


def _kept(
    folder: Path,
    kind: str,
    condition: str,
    *,
    bound: float | None = None,
    partition: str | None = None,
    metadata: dict[str, Any] | None = None,
) -> int:
    """Count the kept files of a table with one file, given its bounds or partition value."""
    log = Log(folder)
    field = {"name": "c", "type": kind, "nullable": True, "metadata": metadata or {}}
    described = METADATA["metaData"] | {
        "schemaString": json.dumps({"type": "struct", "fields": [field]}),
        "partitionColumns": [] if partition is None else ["c"],
    }
    entry = added("a.parquet", partitionValues={} if partition is None else {"c": partition})
    if partition is None:
        stats = {"numRecords": 1, "nullCount": {"c": 0}}
        stats |= {"minValues": {"c": bound}, "maxValues": {"c": bound}}
        entry["add"]["stats"] = json.dumps(stats)
    log.commit(1, {"metaData": described}, entry)
    return len(ls.find_files(f"delta:{folder}", condition).paths)


@pytest.mark.parametrize(
    ("kind", "condition", "bound", "left"),
    [
        # 0.7 as FLOAT is 0.699999988..., 0.1 is 0.100000001...
        ("float", "c < 0.7", 0.7, 1),
        ("float", "c > 0.1 AND c < 1", 0.1, 1),
        ("float", "c > 0.2 AND c < 1", 0.1, 0),
        # files from before a column was widened
        ("double", "c < 0.7", 0.7, 1),
        ("double", "c > 0.1 AND c < 1", 0.1, 1),
        ("double", "c < 0.6", 0.7, 0),
        ("double", "c > 1e300 AND c < 1e301", 5e299, 0),
        ("double", "c > 1e300 AND c < 1e301", 5e300, 1),
    ],
)
def test_bounds_of_floats(
    tmp_path: Path, kind: str, condition: str, bound: float, left: int
) -> None:
    """A logged number may be the shortest text of a single-precision value."""
    assert _kept(tmp_path / "t", kind, condition, bound=bound) == left


@pytest.mark.parametrize(
    ("kind", "condition", "text", "left"),
    [
        ("float", "c > 0.1", "0.1", 1),
        ("float", "c < 0.7", "0.7", 1),
        ("float", "c < 0.6", "0.7", 0),
        ("double", "c = 0.1", "0.1", 1),
        ("double", "c > 0.1", "0.1", 0),
        # Spark reads an empty partition value as an empty string, other readers as null
        ("string", "c = ''", "", 1),
        ("string", "c IS NULL", "", 1),
        ("integer", "c = 1", "", 0),
        ("decimal(38,0)", "c = 1", "12345678901234567890123456789012345678", 0),
    ],
)
def test_partitions(tmp_path: Path, kind: str, condition: str, text: str, left: int) -> None:
    """A partition's text is read as Spark casts it to the column's type."""
    assert _kept(tmp_path / "t", kind, condition, partition=text) == left


@pytest.mark.parametrize(
    ("metadata", "text"),
    [
        ({"__CHAR_VARCHAR_TYPE_STRING": "char(4)"}, "ab  "),
        ({"__COLLATIONS": {"c": "spark.UTF8_LCASE"}}, "AB"),
    ],
)
def test_partitions_of_texts_that_are_compared_in_another_way(
    tmp_path: Path, metadata: dict[str, Any], text: str
) -> None:
    """Partitions of padded or collated texts leave out no file."""
    assert _kept(tmp_path / "t", "string", "c = 'ab'", partition=text, metadata=metadata) == 1


@pytest.mark.parametrize(
    ("digits", "scale", "text"),
    [
        (18, 2, "1000000000000000.01"),
        (30, 2, "100000000000000000.01"),
        (38, 10, "-123456789012345678.0123456789"),
        (18, 2, "12.34"),
    ],
)
def test_decimals_that_are_logged_as_doubles(
    tmp_path: Path, digits: int, scale: int, text: str
) -> None:
    """delta-rs logs the nearest double of a decimal, which may have fewer digits."""
    value = Decimal(text)
    rows = pa.table({"d": pa.array([value], pa.decimal128(digits, scale))})
    deltalake.write_deltalake(str(tmp_path / "t"), rows)
    table = f"delta:{tmp_path / 't'}"
    step = Decimal(1).scaleb(-scale)

    assert len(ls.find_files(table, f"d = {value}").paths) == 1
    assert len(ls.find_files(table, f"d > {value - step} AND d < {value + step}").paths) == 1
    assert len(ls.find_files(table, f"d > {2 * abs(value)}").paths) == 0
