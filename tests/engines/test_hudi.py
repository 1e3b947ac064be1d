"""Log files of Hudi tables that only Spark merges are refused by name, with the reason."""

from __future__ import annotations

import struct
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.tables.test_hudi_reader import Table

from lakesieve.engines.hudi_logs import check_mergeable
from lakesieve.engines.table_rows import rows_of
from lakesieve.errors import ErrorKind, UnsupportedError

if TYPE_CHECKING:
    from pathlib import Path

    from lakesieve.tables.hudi.slices import FileSlice
    from lakesieve.tables.hudi.table import HudiReader

ORDERED = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}
DELETE, AVRO, PARQUET, COMMAND = 1, 3, 5, 2


def block(kind: int, content: bytes = b"rows", *, form: int = 1) -> bytes:
    """Return a block of a log file."""
    return b"#HUDI#" + struct.pack(">qii", 8 + len(content), form, kind) + content


def slice_of(table: Table) -> tuple[HudiReader, FileSlice]:
    """Return the only file slice of a table: a base file and a log file."""
    table.commit(1)
    table.base("f", 1)
    table.commit(2, "deltacommit")
    # before version 8, its name has the commit of the base file
    table.log("f", 2 if table.version >= 8 else 1)
    reader = table.open()
    ((one, is_exact),) = reader.slices(reader.version())
    assert not is_exact
    return reader, one


def test_logs_that_are_merged(tmp_path: Path) -> None:
    """Blocks of rows and of deletes are merged by the time of their commits."""
    reader, one = slice_of(Table(tmp_path, settings=ORDERED))
    check_mergeable(reader, one, [block(AVRO) + block(DELETE), block(PARQUET)])


@pytest.mark.parametrize(
    ("version", "settings", "why"),
    [
        (6, ORDERED, "in table version 6, log files may contain rows that were rolled back"),
        (9, {"hoodie.record.merge.mode": "CUSTOM"}, "the table has the record merge mode CUSTOM"),
        (9, {}, "the table has the record merge mode none"),
        (9, ORDERED | {"hoodie.populate.meta.fields": "false"}, "does not store Hudi's meta"),
    ],
)
def test_tables_that_spark_alone_merges(
    tmp_path: Path, version: int, settings: dict[str, str], why: str
) -> None:
    """Another way to merge, an older version and a table without meta fields are refused."""
    reader, one = slice_of(Table(tmp_path, version, settings))
    with pytest.raises(UnsupportedError, match=why) as raised:
        check_mergeable(reader, one, [block(AVRO)])
    assert raised.value.kind is ErrorKind.UNSUPPORTED_TABLE


@pytest.mark.parametrize(
    ("log", "why"),
    [
        (block(AVRO) + block(COMMAND), "a log file has a block of the unsupported type 2"),
        (block(AVRO, form=2), "a log file is damaged"),
        (block(AVRO)[:-1], "a log file is damaged"),
        (block(AVRO) + b"#HUDI#", "a log file is damaged"),
        (b"no block", "a log file is damaged"),
    ],
    ids=["command", "form", "cut", "begun", "none"],
)
def test_logs_that_spark_alone_merges(tmp_path: Path, log: bytes, why: str) -> None:
    """A block of another type, and a log file that is cut off, are refused."""
    reader, one = slice_of(Table(tmp_path, settings=ORDERED))
    with pytest.raises(UnsupportedError, match=f"cannot be merged without Spark: {why}"):
        check_mergeable(reader, one, [block(PARQUET), log])


def test_slices_that_spark_alone_merges(tmp_path: Path) -> None:
    """Log files without a base file, or over rows of another table, are refused."""
    reader, one = slice_of(Table(tmp_path, settings=ORDERED))
    with pytest.raises(UnsupportedError, match="the file slice has no base file"):
        check_mergeable(reader, replace(one, base=None), [block(AVRO)])
    with pytest.raises(UnsupportedError, match="the file slice is bootstrapped"):
        check_mergeable(reader, replace(one, instant="00000000000001"), [block(AVRO)])


@pytest.mark.parametrize(
    "settings",
    [
        {"hoodie.table.keygenerator.type": "TIMESTAMP"},
        {"hoodie.table.keygenerator.class": "org.apache.hudi.keygen.CustomKeyGenerator"},
    ],
)
def test_partitions_that_spark_alone_reads(tmp_path: Path, settings: dict[str, str]) -> None:
    """Partition columns that a key generator computes are not in the names of the folders."""
    table = Table(tmp_path, settings=settings)
    table.commit(1)
    with pytest.raises(UnsupportedError, match="its partition columns are not read without Spark"):
        rows_of(table.open(), None)
