"""Rows of a directory of Parquet files, of candidate files alone."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from lakesieve.engines import engine_scans
from lakesieve.engines.file_rows import FileRows
from lakesieve.engines.spark_fields import rows_of_file
from lakesieve.storage import open_object
from lakesieve.tables.parquet.table import ParquetReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import pyarrow as pa

    from lakesieve.engines.spark_fields import Field, Partition
    from lakesieve.engines.wanted_rows import WantedRows
    from lakesieve.index import KeepTree
    from lakesieve.predicate import Expr


class ParquetRows(FileRows[ParquetReader]):
    """The files that are there when they are read, under the columns that were there before.

    Args:
        table: The directory.
        version: ``None``: there is no other.
        locations: Further roots to search for indexes.
    """

    def __init__(
        self, table: ParquetReader, version: str | int | None, locations: Iterable[str]
    ) -> None:
        super().__init__(table.without_session(), version, locations)
        self._listing = threading.Lock()

    def _read(self, wanted: Expr | KeepTree, fields: list[Field]) -> Iterator[pa.RecordBatch]:
        # files may be rewritten in place: an index knows them by their size and time of now;
        # of two scans at once, one must not list while the other takes down what it listed
        with self._listing:
            self._table.reload()
            identities = self._table.live_files(self._version).column("path")
            files = list(self._table.listed())
        pruned = self._pruner.of_table(self._table, self._columns, wanted)
        to_read = pruned.files_to_read(identities)
        engine_scans.remember([pruned])
        for at, (path, partition) in enumerate(files):
            # files without rows of their own are listed, too
            if to_read.keep[at] and partition is not None:
                some = to_read.rows.get(at)
                rows = self._rows_of(path, partition, fields, some)
                if some is not None and not self._table.is_unchanged(path, identities[at].as_py()):
                    # the wanted rows were those of a file that is gone
                    rows = self._rows_of(path, partition, fields, None)
                    pruned.read_whole(some, len(rows), "they were rewritten during the scan")
                yield from rows.to_batches()

    def _rows_of(
        self, path: str, partition: Partition, fields: list[Field], wanted: WantedRows | None
    ) -> pa.Table:
        with open_object(self._table.storage, path) as opened:
            return rows_of_file(
                opened, fields, partition, self._partitioning, path=path, wanted=wanted
            )
