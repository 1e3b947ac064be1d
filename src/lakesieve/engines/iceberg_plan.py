"""Plans of Iceberg scans for engines: the files that can hold a match, with their deletes."""

from __future__ import annotations

import uuid
from itertools import compress
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
from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.io import FileIO
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from lakesieve.engines.engine_scans import EngineScan
    from lakesieve.engines.wanted_rows import WantedRows
    from lakesieve.index import OpenedIndex
    from lakesieve.predicate import Expr
    from lakesieve.tables import Column
    from lakesieve.tables.iceberg.manifest_files import Manifest

_LIMITS = ManifestLimits()


class PlannedFile(NamedTuple):
    """A data file of a scan, and the delete files that apply to it.

    ``wanted`` has the rows of the file that can match; ``None`` means all rows.
    """

    file: ListedFile
    positions: list[ListedFile]
    equality: list[ListedFile]
    wanted: WantedRows | None

    def task(self, metadata: TableMetadata, residual: BooleanExpression) -> FileScanTask:
        """Return the PyIceberg task that reads the file without applying equality deletes."""
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
    """Return the data files of a snapshot that can hold a row for which ``expression`` is true.

    The columns in ``columns`` have the field ids that the manifests use. ``pruned`` has the plan of
    the indexes. This function updates the file counts in ``pruned``.
    """
    manifests = TableManifests(_source(io), SHARED)
    by_metadata = metadata_filter(expression, columns, metadata)
    listed = manifests.listed(snapshot.manifest_list)
    data = live_manifests(listed, by_metadata)
    if pruned.plan is None:
        # every file is in the scan, so read the paths and the counts in one pass
        manifests.files(data)
    numbers, counts = _numbers_and_counts(manifests, data, pruned)
    to_read = pruned.numbered_files_to_read(numbers, sum(counts))
    ends = np.cumsum(counts, dtype=np.int64)
    firsts = dict(zip((one.path for one in data), (ends - counts).tolist(), strict=True))
    deletes = delete_index(manifests, listed, metadata)
    planned = []
    for file in kept_files(manifests, data, rows_of_each(to_read.keep, ends), by_metadata):
        applied = [] if deletes is None else deletes.of(file)
        equality = [d for d in applied if d.value("content") == EQUALITY_DELETES]
        positions = [d for d in applied if d not in equality]
        wanted = to_read.rows.get(firsts[file.files.manifest.path] + file.at)
        planned.append(PlannedFile(file, positions, equality, wanted))
    return planned


def metadata_filter(
    expression: Expr,
    columns: Mapping[tuple[str, ...], Column],
    metadata: TableMetadata,
    judgements: int | None = None,
) -> MetadataFilter:
    """Make the filter of a scan by Iceberg's own metadata; columns have the ids of manifests."""
    wanted = rows_where(bind(expression, column_types(columns), strict=False))
    return MetadataFilter(wanted, columns, partition_specs(metadata), judgements=judgements)


def live_manifests(listed: Iterable[Manifest], by_metadata: MetadataFilter) -> list[Manifest]:
    """Return the manifests of data files that can list a file with a row."""
    data = [manifest for manifest in listed if manifest.content == DATA]
    return list(compress(data, by_metadata.manifests(data).tolist()))


def index_mask(
    manifests: TableManifests, data: Sequence[Manifest], pruned: EngineScan
) -> tuple[np.ndarray, np.ndarray]:
    """Judge all files of some manifests by the indexes, for an engine that reads whole files.

    Returns:
        Whether each file must be read, and where the files of each manifest end.
    """
    numbers, counts = _numbers_and_counts(manifests, data, pruned)
    return pruned.keep_numbered(numbers, sum(counts)), np.cumsum(counts, dtype=np.int64)


def _numbers_and_counts(
    manifests: TableManifests, data: Sequence[Manifest], pruned: EngineScan
) -> tuple[list[np.ndarray], list[int]]:
    """Return the numbers that each index has for all files, and the files of each manifest."""
    indexes = () if pruned.plan is None else pruned.plan.indexes
    numbers = [_numbers(manifests, data, index) for index in indexes]
    if numbers:
        counts = [len(one) for one in numbers[0]]
    else:
        counts = manifests.of_each(data, ("count",), lambda tables: list(map(len, tables)))
    none = np.empty(0, np.int32)
    return [np.concatenate([none, *of]) for of in numbers], counts


def _numbers(
    manifests: TableManifests, data: Sequence[Manifest], index: OpenedIndex
) -> list[np.ndarray]:
    """Return the numbers that an index has for the files of each manifest."""

    def look_up(tables: Sequence[pa.Table]) -> list[np.ndarray]:
        paths = normal_paths(pa.concat_tables(tables).column("path"))
        ends = np.cumsum([len(one) for one in tables], dtype=np.int64)
        numbers = index.numbers(paths).astype(np.int32)
        # copies, because a view would keep the whole array in memory
        return [part.copy() for part in np.split(numbers, ends)[:-1]]

    return manifests.of_each(data, (index.identity, "numbers"), look_up)


def rows_of_each(mask: np.ndarray, ends: np.ndarray) -> list[np.ndarray]:
    """Return the rows of each manifest that a mask over all of them keeps."""
    return [part.nonzero()[0] for part in np.split(mask, ends)[:-1]]


def kept_files(
    manifests: TableManifests,
    data: Sequence[Manifest],
    rows: Sequence[np.ndarray],
    by_metadata: MetadataFilter,
) -> Iterator[ListedFile]:
    """Yield the files in some rows of manifests whose statistics do not rule out every row."""
    for batch in manifests.batches(list(zip(data, rows, strict=True))):
        kept = by_metadata.files(batch)
        yield from listed_files(zip((files for files, _ in batch), kept, strict=True))


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
