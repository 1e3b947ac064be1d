"""Read the data files of one scan of an Iceberg table, or only some of their rows."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.engines.iceberg_reading import FileScan, RowGroupScan, deleted_positions
from lakesieve.engines.plain_files import MAX_FILES, plain_rows

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata

    from lakesieve.engines.engine_scans import EngineScan
    from lakesieve.engines.iceberg_plan import PlannedFile


class IcebergFiles:
    """The data files of one scan, with their position deletes applied.

    Equality deletes are left to the caller.

    Args:
        metadata: Metadata of the table.
        io: PyIceberg's ``FileIO``.
        files: The files of the scan.
        fields: The columns to read.
        target: The same columns in Arrow.
        row_filter: A filter by which PyIceberg's reader may leave out rows.
        pruned: The scan, which counts rows that are read although they cannot match.
    """

    def __init__(
        self,
        metadata: TableMetadata,
        io: Any,
        files: Sequence[PlannedFile],
        *,
        fields: Schema,
        target: pa.Schema,
        row_filter: BooleanExpression,
        pruned: EngineScan,
    ) -> None:
        self._metadata = metadata
        self._io = io
        self._files = files
        self._fields = fields
        self._target = target
        self._filter = row_filter
        self._pruned = pruned

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Read all files. Files that PyIceberg reads whole are read last, in threads."""
        few = len(self._files) <= MAX_FILES
        others = []
        for planned in self._files:
            if planned.wanted is None and not few:
                others.append(planned)
                continue
            rows = self._plain(planned)
            if rows is not None:
                yield from rows.to_batches()
            elif planned.wanted is not None:
                yield from self._by_pyiceberg(planned)
            else:
                others.append(planned)
        # to make a scan takes as long as to plan
        if others:
            tasks = [planned.task(self._metadata, self._filter) for planned in others]
            yield from self._cast(self._scan.to_record_batches(tasks))

    def batches_in_turn(self) -> Iterator[pa.RecordBatch]:
        """Read the data files one by one. A caller may stop after a few files."""
        for planned in self._files:
            yield from self.batches_of(planned)

    def batches_of(self, planned: PlannedFile) -> Iterator[pa.RecordBatch]:
        """Read one file."""
        rows = None if planned.wanted is None else self._plain(planned)
        return self._by_pyiceberg(planned) if rows is None else iter(rows.to_batches())

    def _plain(self, planned: PlannedFile) -> pa.Table | None:
        """Return the wanted rows of a file by pyarrow alone, if that gives the same rows."""
        task = planned.task(self._metadata, self._filter)
        wanted = planned.wanted
        deleted = () if wanted is None else self._deleted.get(planned.file.path, ())
        return plain_rows(
            task,
            self._fields,
            self._target,
            self._metadata,
            self._io,
            wanted=wanted,
            deleted=deleted,
        )

    def _by_pyiceberg(self, planned: PlannedFile) -> Iterator[pa.RecordBatch]:
        """Read a file by PyIceberg: the row groups that hold a wanted row, or the whole file."""
        task = planned.task(self._metadata, self._filter)
        wanted, scan = planned.wanted, self._scan
        if wanted is not None and task.file.file_format.name == "PARQUET":
            scan = RowGroupScan(wanted, self._metadata, self._io, self._fields, self._filter)
        elif wanted is not None:
            self._pruned.read_whole(wanted, task.file.record_count, "they are not Parquet files")
        return self._cast(scan.to_record_batches([task]))

    def _cast(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield from pa.Table.from_batches([batch]).cast(self._target).to_batches()

    @cached_property
    def _scan(self) -> FileScan:
        return FileScan(self._metadata, self._io, self._fields, self._filter)

    @cached_property
    def _deleted(self) -> dict[str, list[pa.ChunkedArray]]:
        """Positions of deleted rows by the path of their file, of files with wanted rows."""
        some = [planned for planned in self._files if planned.wanted is not None]
        tasks = [planned.task(self._metadata, self._filter) for planned in some]
        return deleted_positions(self._io, tasks)
