"""Plans of Iceberg scans for engines: the files that can hold a match, with their deletes."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import FileScanTask
from pyiceberg.typedef import Record
from pyiceberg.types import UUIDType

from lakesieve.engines.iceberg_columns import partition_specs
from lakesieve.index.scan_decision import column_types
from lakesieve.predicate import bind, rows_where
from lakesieve.storage import fingerprint
from lakesieve.tables.iceberg.delete_files import delete_index
from lakesieve.tables.iceberg.manifest_files import (
    BOUNDS,
    COUNTS,
    DATA,
    EQUALITY_DELETES,
    ListedFile,
    listed_files,
)
from lakesieve.tables.iceberg.manifests import SHARED
from lakesieve.tables.iceberg.metadata_filter import MetadataFilter
from lakesieve.tables.iceberg.table_manifests import (
    ManifestLimits,
    ManifestSource,
    TableManifests,
    read_through,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.io import FileIO
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from lakesieve.engines.engine_scans import EngineScan
    from lakesieve.predicate import Expr
    from lakesieve.tables import Column

_LIMITS = ManifestLimits()


class PlannedFile(NamedTuple):
    """A data file of a scan, and the delete files that apply to it."""

    file: ListedFile
    positions: list[ListedFile]
    equality: list[ListedFile]

    def task(self, metadata: TableMetadata, residual: BooleanExpression) -> FileScanTask:
        """Make the task of PyIceberg's that reads the file without its equality deletes."""
        deletes = {_data_file(delete, metadata) for delete in self.positions}
        return FileScanTask(_data_file(self.file, metadata), deletes, residual)


def plan_files(
    metadata: TableMetadata,
    io: FileIO,
    snapshot: Snapshot,
    expression: Expr,
    columns: Mapping[tuple[str, ...], Column],
    *,
    pruned: EngineScan,
) -> list[PlannedFile]:
    """Return the data files of a snapshot that can hold a row.

    Args:
        metadata: Of the table.
        io: Reads its manifests.
        snapshot: The snapshot.
        expression: The rows that are wanted.
        columns: The columns by the ids that they have in manifests.
        pruned: What the indexes say; it counts the files.
    """
    manifests = TableManifests(_source(io), SHARED)
    wanted = rows_where(bind(expression, column_types(columns), strict=False))
    by_metadata = MetadataFilter(wanted, columns, partition_specs(metadata))
    listed = manifests.listed(snapshot.manifest_list)
    data = [manifest for manifest in listed if manifest.content == DATA]
    live = by_metadata.manifests(data).tolist()
    data = [manifest for manifest, is_live in zip(data, live, strict=True) if is_live]
    if pruned.plan is None:
        # every file is in the scan: one reading gives their paths too
        manifests.files(data)
    paths = manifests.normal_paths(data)
    chunks = [chunk for one in paths for chunk in one.chunks]
    keep = pruned.keep(pa.chunked_array(chunks, pa.string()))
    ends = np.cumsum([len(one) for one in paths], dtype=np.int64)
    kept = [of.nonzero()[0] for of in np.split(keep, ends)[:-1]]
    deletes = delete_index(manifests, listed, metadata)
    planned = []
    for parts in manifests.batches(list(zip(data, kept, strict=True))):
        rows = by_metadata.files(parts)
        for file in listed_files(zip((files for files, _ in parts), rows, strict=True)):
            applied = [] if deletes is None else deletes.of(file)
            equality = [d for d in applied if d.value("content") == EQUALITY_DELETES]
            positions = [d for d in applied if d not in equality]
            planned.append(PlannedFile(file, positions, equality))
    return planned


def _source(io: FileIO) -> ManifestSource:
    # endpoints and credentials
    properties = sorted((name, str(value)) for name, value in io.properties.items())
    settings = fingerprint((("py-io-impl", type(io).__qualname__), *properties))
    return ManifestSource(
        read=lambda path: read_through(io, path, _LIMITS.stored),
        owner=lambda _: (settings,),
        limits=_LIMITS,
    )


def _data_file(file: ListedFile, metadata: TableMetadata) -> DataFile:
    """A file as PyIceberg has it."""
    more: dict[str, Any] = {name: file.mapping(name) or None for name in (*COUNTS, *BOUNDS)}
    more |= {name: file.value(name) for name in _PLAIN}
    made = DataFile.from_args(
        content=DataFileContent(file.value("content") or 0),
        file_path=file.path,
        file_format=FileFormat(file.value("file_format").upper()),
        partition=_record(file, metadata),
        **more,
    )
    made.spec_id = file.spec_id
    return made


_PLAIN = (
    "record_count",
    "file_size_in_bytes",
    "key_metadata",
    "split_offsets",
    "equality_ids",
    "sort_order_id",
)


def _record(file: ListedFile, metadata: TableMetadata) -> Record:
    values: list[Any] = list(file.partition)
    if any(isinstance(value, bytes) for value in values):
        kinds = metadata.specs()[file.spec_id].partition_type(metadata.schema()).fields
        for at, (value, kind) in enumerate(zip(values, kinds, strict=False)):
            if isinstance(kind.field_type, UUIDType) and isinstance(value, bytes):
                values[at] = uuid.UUID(bytes=value)
    return Record(*values)
