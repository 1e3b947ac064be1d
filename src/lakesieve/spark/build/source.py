"""The data files that a build reads, and the indexes to which it adds them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.sieve import KeyType
from lakesieve.spark.build.file_hashes import FileHashes
from lakesieve.spark.tables.contract import RawRead
from lakesieve.spark.versions.spark_versions import arrow_of
from lakesieve.storage import open_object
from lakesieve.store import FilesUncovered
from lakesieve.tables.folder import FolderReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import SparkSession

    from lakesieve.format import IndexDefinition
    from lakesieve.spark.rule.installed import InstalledRule
    from lakesieve.spark.tables import SparkTable
    from lakesieve.store import Changes, IndexStore, Snapshot
    from lakesieve.tables import Column, TableReader, TableVersion

SMALLEST_SPLIT = 4 << 20
"""Fewest bytes of files that a task reads."""


def indexable(live: pa.Table) -> pa.Table:
    """Return the live files whose keys an index can hold."""
    if "indexable" not in live.column_names:
        return live
    return live.filter(live.column("indexable"))


def key_types(columns: Iterable[Column]) -> tuple[KeyType, ...]:
    """Return the key types of columns."""
    return tuple(KeyType(kind=c.kind, scale=c.scale, precision=c.precision) for c in columns)


def check_unseen(reader: TableReader, files: pa.Table, has_rows: np.ndarray) -> None:
    """Check that data files without a row in a raw read are empty.

    The reader lists the files, and Spark reads the rows with a list of its own. A file that Spark
    skipped would be indexed without its keys. If paths identify the content of files, Spark has
    read the same list.

    Args:
        reader: The reader.
        files: The files that it lists.
        has_rows: Whether Spark has read a row of each file.

    Raises:
        LakesieveError: One of these files has rows.
    """
    if not isinstance(reader, FolderReader) or "modified" in files.column_names:
        return
    names = files.column("location" if "location" in files.column_names else "path")
    unseen = names.filter(pc.and_(files.column("records").is_null(), pa.array(~has_rows)))
    root = f"{reader.location}/"
    for name in unseen.to_pylist():
        if not name.startswith(root):
            continue
        with open_object(reader.storage, name.removeprefix(root)) as opened:
            rows = pq.read_metadata(opened).num_rows
        if rows:
            raise LakesieveError(
                f"Spark read none of the {rows} rows of {name}.",
                kind=ErrorKind.BUILD_INCONSISTENT,
                hint="Nothing was committed. Check whether the table was changed meanwhile.",
            )


@dataclass(slots=True, kw_only=True, eq=False)
class IndexBuild:
    """One index to which data files are added, and the progress so far.

    Args:
        definition: The index's definition.
        store: The index.
        columns: Its key columns, in order, as the version that is read has them.
        base: The state to which files are added; ``None`` if the first commit creates the index.
        replaces: Whether the first commit may take the place of another index.
        files: Number of committed data files.
        rows: Rows of these files.
        error: The error, if the build failed.
    """

    definition: IndexDefinition
    store: IndexStore
    columns: tuple[Column, ...]
    base: Snapshot | None = None
    replaces: bool = False
    files: int = 0
    rows: int = 0
    error: Exception | None = None

    def commit(self, changes: Changes, files: Source) -> None:
        """Commit the segments of some data files, unless another writer has indexed these files."""
        if self.base is None:
            begin = self.store.replace if self.replaces else self.store.create
            self.base = begin(self.definition, changes)
        else:
            requires = [FilesUncovered(paths=files.files.column("path"))]
            self.base = self.store.commit(self.base, changes, requires)
        self.files += files.files.num_rows
        self.rows += files.rows


def distinct_columns(keys: Iterable[Iterable[Column]]) -> tuple[Column, ...]:
    """Return the key columns of several indexes, without duplicates."""
    return tuple({column.field_id: column for key in keys for column in key}.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Some data files of one version of a table, and the key columns to read from them.

    Args:
        files: The files, as ``TableReader.live_files`` returns them.
        is_partial: True if the version has more files.
    """

    table: SparkTable
    version: TableVersion
    columns: tuple[Column, ...]
    files: pa.Table
    is_partial: bool = False

    @classmethod
    def whole(cls, table: SparkTable, version: TableVersion, columns: tuple[Column, ...]) -> Source:
        """Return all files of a version whose keys an index can hold."""
        live = table.reader.live_files(version)
        files = indexable(live)
        return cls(
            table=table,
            version=version,
            columns=columns,
            files=files,
            is_partial=files.num_rows < live.num_rows,
        )

    @property
    def rows(self) -> int:
        """Rows of the files, ignoring row-level deletes. Only a :meth:`counted` source has them."""
        records = self.files.column("records")
        assert records.null_count == 0
        return int(pc.sum(records).as_py() or 0)

    @property
    def key_types(self) -> tuple[KeyType, ...]:
        """Return the types of the keys in the key columns."""
        return key_types(self.columns)

    def portions(self, rows: int) -> Iterator[Source]:
        """Yield parts of consecutive files with about ``rows`` rows. The source must be counted."""
        records = self.files.column("records").to_numpy()
        before = np.cumsum(records) - records
        starts = np.flatnonzero(np.diff(before // rows, prepend=-1))
        ends = [*starts[1:].tolist(), self.files.num_rows]
        if len(starts) <= 1:
            yield self
            return
        for start, end in zip(starts.tolist(), ends, strict=True):
            yield replace(self, files=self.files.slice(start, end - start), is_partial=True)

    def selected(self) -> pa.ChunkedArray | None:
        """Return the paths of the files for ``raw_reads``, or ``None`` for the whole version."""
        return self.files.column("path") if self.is_partial else None

    def file_hashes(self, spark: SparkSession) -> FileHashes:
        """Return the hashes of the files' names, as raw rows have them."""
        is_other = "scanned" in self.files.column_names
        paths = self.files.column("scanned" if is_other else "path")
        return FileHashes.of(spark, self.table.names_in_rows(paths))

    def counted(self, rule: InstalledRule) -> Source:
        """Return the source with the row count of each file, read if the metadata lacks it."""
        records = self.files.column("records")
        if records.null_count == 0:
            return self
        with rule.raw_reads(self.selected()) as selection:
            read = RawRead(columns=(), split_bytes=SMALLEST_SPLIT, selection=selection)
            rows = self.table.raw_rows(self.version, read)
            file_hashes = self.file_hashes(rows.sparkSession)
            counts = arrow_of(rows.selectExpr(file_hashes.sql).groupBy("file").count())
        read_rows = np.zeros(len(records), np.int64)
        numbers = file_hashes.numbers(counts.column("file").to_numpy())
        np.add.at(read_rows, numbers, counts.column("count").to_numpy())
        check_unseen(self.table.reader, self.files, read_rows > 0)
        counted = pc.coalesce(records, pa.array(read_rows))
        at = self.files.column_names.index("records")
        return replace(self, files=self.files.set_column(at, "records", counted))
