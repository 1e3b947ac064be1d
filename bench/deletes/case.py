"""Tables with many equality deletes, written by pyarrow and committed through Iceberg."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakesieve.storage import local_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pyspark.sql import SparkSession

__all__ = ["Case", "build"]

_ID = b"PARQUET:field_id"
_COMMITS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A table: rows of distinct keys in no order, then deletes of random keys.

    Args:
        rows: Data rows.
        data_files: Data files.
        records: Delete records.
        delete_files: Delete files; records of one key may be in several.
        key: ``bigint`` or ``string``.
        partitions: By the key modulo that many; 1 is an unpartitioned table.
        touched: Share of the data files that hold the deleted keys.
    """

    rows: int
    data_files: int
    records: int
    delete_files: int
    key: str = "bigint"
    partitions: int = 1
    touched: float = 1.0

    @property
    def table(self) -> str:
        """Its name, which says what it is."""
        touched = round(100 * self.touched)
        sizes = f"{self.rows}_{self.data_files}_{self.records}_{self.delete_files}"
        return f"lake.deletes.t_{sizes}_{self.key}_{self.partitions}_{touched}"


def build(spark: SparkSession, case: Case) -> None:
    """Write the table."""
    by = "PARTITIONED BY (p)" if case.partitions > 1 else ""
    spark.sql(
        f"CREATE TABLE {case.table} (k {case.key}, p INT, v BIGINT, t STRING) USING iceberg {by} "
        "TBLPROPERTIES ('format-version'='2')"
    )
    jvm: Any = spark._jvm
    table = jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(
        spark._jsparkSession, case.table
    )
    folder = local_path(str(table.location())) / "data"
    folder.mkdir(parents=True, exist_ok=True)
    drawn = np.random.default_rng(7)
    ids = drawn.permutation(case.rows)
    append = table.newAppend()
    for partition, numbers in _spread(ids, case.data_files, case.partitions):
        path = folder / f"{uuid.uuid4().hex}.parquet"
        pq.write_table(_data(case, numbers, partition), path, compression="zstd")
        file = jvm.org.apache.iceberg.DataFiles.builder(table.spec())
        file = _placed(table, file, partition, path).withRecordCount(len(numbers))
        append.appendFile(file.build())
    append.commit()
    known = ids[: max(1, int(case.rows * case.touched))]
    gone = known[drawn.integers(0, len(known), case.records)]
    files = list(_spread(gone, case.delete_files, case.partitions))
    for start in range(_COMMITS):
        delta = table.newRowDelta()
        for partition, numbers in files[start::_COMMITS]:
            path = folder / f"{uuid.uuid4().hex}-eq.parquet"
            pq.write_table(pa.table({"k": _keys(case, numbers)}, schema=_schema(case, 1)), path)
            file = jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(table.spec())
            file = file.ofEqualityDeletes(_int_one(spark))
            file = _placed(table, file, partition, path).withRecordCount(len(numbers))
            delta.addDeletes(file.build())
        delta.commit()


def _spread(ids: np.ndarray, files: int, partitions: int) -> Iterator[tuple[int, np.ndarray]]:
    for partition in range(partitions):
        members = ids[ids % partitions == partition] if partitions > 1 else ids
        for numbers in np.array_split(members, max(1, files // partitions)):
            yield partition, numbers


def _placed(table: Any, file: Any, partition: int, path: Path) -> Any:
    file = file.withPath(f"{table.location()}/data/{path.name}").withFormat("parquet")
    file = file.withFileSizeInBytes(path.stat().st_size)
    return file.withPartitionPath(f"p={partition}") if table.spec().isPartitioned() else file


def _int_one(spark: SparkSession) -> Any:
    gateway: Any = spark.sparkContext._gateway
    ids = gateway.new_array(gateway.jvm.int, 1)
    ids[0] = 1
    return ids


def _keys(case: Case, numbers: np.ndarray) -> pa.Array:
    if case.key == "bigint":
        return pa.array(numbers.astype(np.int64))
    # the order of texts is none of the numbers
    mixed = (numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(4)
    return pc.binary_join_element_wise("user", pa.array(mixed).cast(pa.string()), "-")


def _schema(case: Case, columns: int) -> pa.Schema:
    key = pa.int64() if case.key == "bigint" else pa.string()
    types = {"k": key, "p": pa.int32(), "v": pa.int64(), "t": pa.string()}
    fields = [
        pa.field(name, kind, metadata={_ID: str(number).encode()})
        for number, (name, kind) in enumerate(types.items(), start=1)
    ]
    return pa.schema(fields[:columns])


def _data(case: Case, numbers: np.ndarray, partition: int) -> pa.Table:
    values = pa.array(numbers.astype(np.int64))
    result = pc.binary_join_element_wise("row", values.cast(pa.string()), " ")
    partition_values = pa.array(np.full(len(numbers), partition, np.int32))
    return pa.Table.from_arrays(
        [_keys(case, numbers), partition_values, values, result], schema=_schema(case, 4)
    )
