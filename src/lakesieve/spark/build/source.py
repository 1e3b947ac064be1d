"""What a build, a trial or a proof reads: data files of one version, and their key columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.sieve import KeyType
from lakesieve.spark.versions.spark_versions import arrow_of
from lakesieve.storage import open_object
from lakesieve.tables.folder import FolderReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from lakesieve.format import IndexDefinition
    from lakesieve.spark.rule.installed import InstalledRule
    from lakesieve.spark.tables import SparkTable
    from lakesieve.storage import Storage
    from lakesieve.tables import Column, TableReader, TableVersion

SMALLEST_SPLIT = 4 << 20
"""Bytes of files that a task reads at least."""


def indexable(live: pa.Table) -> pa.Table:
    """Those of a version's live files whose keys an index can hold."""
    if "indexable" not in live.column_names:
        return live
    return live.filter(live.column("indexable"))


def key_types(columns: Iterable[Column]) -> tuple[KeyType, ...]:
    """Types of the keys of columns, as the columns are now."""
    return tuple(KeyType(kind=c.kind, scale=c.scale, precision=c.precision) for c in columns)


def check_unseen(
    reader: TableReader, files: pa.Table, scanned: pa.ChunkedArray, seen: pa.ChunkedArray
) -> None:
    """Insist that data files without a row in a raw read are empty.

    The reader lists the files, and Spark reads the rows by a list of its own. A file that Spark
    passed over would be indexed without its keys. Where a path tells a file's contents, Spark has
    read the same list.

    Raises:
        LakesieveError: One of them has rows.
    """
    if not isinstance(reader, FolderReader) or "modified" in files.column_names:
        return
    names = files.column("location" if "location" in files.column_names else "path")
    is_unseen = pc.invert(pc.is_in(scanned, value_set=seen))
    unseen = names.filter(pc.and_(files.column("records").is_null(), is_unseen))
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
                hint="Nothing was committed; check whether the table was changed meanwhile.",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One index that is to be built.

    Args:
        definition: What it is to be like.
        storage: Its root.
        columns: Its key columns as the version that is read has them, in order.
    """

    definition: IndexDefinition
    storage: Storage
    columns: tuple[Column, ...]


def read_for(targets: Iterable[Target]) -> tuple[Column, ...]:
    """The key columns of several indexes, each once."""
    found = {column.field_id: column for target in targets for column in target.columns}
    return tuple(found.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is to be indexed.

    Args:
        table: The table.
        version: A version that holds the files.
        columns: The key columns that are read.
        files: Some of that version's live files, as ``TableReader.live_files`` gives them.
        is_partial: Whether the version has more.
    """

    table: SparkTable
    version: TableVersion
    columns: tuple[Column, ...]
    files: pa.Table
    is_partial: bool = False

    @classmethod
    def whole(cls, table: SparkTable, version: TableVersion, columns: tuple[Column, ...]) -> Source:
        """All that a version has to be indexed."""
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
        """Rows of the files, row-level deletes ignored; needs a :meth:`counted` source."""
        records = self.files.column("records")
        assert records.null_count == 0
        return int(pc.sum(records).as_py() or 0)

    @property
    def key_types(self) -> tuple[KeyType, ...]:
        """Types of the keys, by the columns as they are now."""
        return key_types(self.columns)

    def portions(self, rows: int) -> Iterator[Source]:
        """The same in parts of consecutive files with about so many rows; none is empty.

        Needs a :meth:`counted` source.
        """
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
        """Paths of the files where they are not all of the version's, for ``raw_reads``."""
        return self.files.column("path") if self.is_partial else None

    @property
    def scanned(self) -> pa.ChunkedArray:
        """The files as raw rows name them."""
        is_other = "scanned" in self.files.column_names
        return self.files.column("scanned" if is_other else "path")

    def counted(self, rule: InstalledRule) -> Source:
        """The same with the rows of each file, from the files where the table does not tell."""
        known = self.files.column("records")
        if known.null_count == 0:
            return self
        with rule.raw_reads(self.selected()) as selection:
            rows = self.table.raw_rows(
                self.version, (), split_bytes=SMALLEST_SPLIT, selection=selection
            )
            counts = arrow_of(rows.groupBy("file").count())
        check_unseen(self.table.reader, self.files, self.scanned, counts.column("file"))
        positions = pc.index_in(self.scanned, value_set=counts.column("file"))
        found = pc.fill_null(counts.column("count").take(positions), 0)
        at = self.files.column_names.index("records")
        return replace(self, files=self.files.set_column(at, "records", pc.coalesce(known, found)))
