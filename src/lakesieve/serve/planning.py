"""Plans of scans: Iceberg's own pruning, then the index, then the delete files of what is left."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyiceberg.table.snapshots import Operation

from lakesieve.engines.iceberg_columns import columns_in_manifests, columns_of, partition_specs
from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError
from lakesieve.index import Reason, ReasonCode
from lakesieve.index.scan_decision import column_types
from lakesieve.predicate import bind, rows_where
from lakesieve.serve.documents import file_document, partition_document
from lakesieve.serve.filters import FilterReader
from lakesieve.serve.limits import PlanLimits, RequestWork
from lakesieve.serve.metrics import count_read
from lakesieve.tables.iceberg.delete_files import delete_index
from lakesieve.tables.iceberg.manifest_files import DATA, ListedFile, listed_files
from lakesieve.tables.iceberg.metadata_filter import MetadataFilter
from lakesieve.tables.iceberg.table_manifests import ManifestSource, TableManifests, read_through
from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.io import FileIO
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot
    from pyiceberg.types import StructType

    from lakesieve.engines.engine_scans import EngineScan, FilePruner
    from lakesieve.index import OpenedIndex, TablePruning
    from lakesieve.serve.bounds import TableBounds
    from lakesieve.serve.requests import ScanRequest
    from lakesieve.tables.iceberg.manifest_cache import ManifestCache
    from lakesieve.tables.iceberg.manifest_files import Manifest, ManifestFiles

_CHECKED = 1000

Page = tuple[int, int, int]
"""The first file of a part of the files in the order of manifests, the end of it, and a number by
which these manifests are known again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """The plan of one scan.

    Args:
        snapshot_id: The snapshot that was planned; ``None`` for an empty table.
        tasks: File scan tasks as the specification has them.
        deletes: The delete files to which they refer.
        pages: The parts of the files that are not planned yet.
        pruning: What was left out, and why not more.
    """

    snapshot_id: int | None
    tasks: Sequence[dict[str, Any]]
    deletes: Sequence[dict[str, Any]]
    pages: Sequence[Page]
    pruning: TablePruning


class TablePlanner:
    """Plans scans of one state of a table.

    Args:
        name: The table's name.
        metadata: Its metadata.
        io: Reads its manifests.
        pruner: Knows its indexes.
        cache: Holds what manifests list.
        for_pyiceberg: Whether PyIceberg reads the plans.
        grant: Names who may use what is kept of the table's files; by default every caller may.
        bounds: The folder in which its files must lie, if not every path is trusted.
        limits: The largest filters and manifests for which scans are planned.
        work: Says when the plans are no longer wanted.
    """

    def __init__(
        self,
        name: str,
        metadata: TableMetadata,
        io: FileIO,
        pruner: FilePruner,
        cache: ManifestCache,
        *,
        for_pyiceberg: bool = False,
        grant: str = "",
        bounds: TableBounds | None = None,
        limits: PlanLimits | None = None,
        work: RequestWork | None = None,
    ) -> None:
        self._limits = limits or PlanLimits()
        self._work = work or RequestWork()
        self._name = name
        self._metadata = metadata
        self._io = io
        self._pruner = pruner
        self._bounds = bounds
        self._for_pyiceberg = for_pyiceberg
        owner = (grant, name, str(metadata.table_uuid))
        source = ManifestSource(
            read=self._read,
            owner=lambda _: owner,
            limits=self._limits.manifests,
            check=self._work.check,
            accept=lambda paths: None if bounds is None else bounds.check_data(paths),
            on_read=count_read,
        )
        self._manifests = TableManifests(source, cache)
        specs = metadata.specs()
        self._partition_types = {
            spec_id: _partition_type(spec, metadata) for spec_id, spec in specs.items()
        }
        self._specs = partition_specs(metadata)

    def plan(
        self, request: ScanRequest, *, page: Page | None = None, tasks: int | None = None
    ) -> ScanPlan:
        """Plan a scan.

        Raises:
            InvalidInputError: The filter or the names in the request do not fit the table.
            NotFoundError: There is no such snapshot.
        """
        snapshots, schema = self._wanted(request)
        fields = _statistics_fields(request, schema)
        by_metadata, pruned = self._filters(request, schema)
        adds = request.end_snapshot_id is not None
        listed = [(s, one) for s in snapshots for one in self._manifests.listed(s.manifest_list)]
        data = [(s.snapshot_id if adds else None, one) for s, one in listed if one.content == DATA]
        # Iceberg keeps what the older snapshots of an incremental scan have
        data = [one for one in data if one[0] is None or one[1].added_by == one[0]]
        live = by_metadata.manifests([manifest for _, manifest in data])
        data = [one for one, is_live in zip(data, live.tolist(), strict=True) if is_live]
        deletes = (
            None
            if adds
            else delete_index(self._manifests, [one for _, one in listed], self._metadata)
        )
        rows, pages = self._rows(data, pruned, page, tasks)
        made: list[dict[str, Any]] = []
        deletes_of: list[list[ListedFile]] = []
        wanted = [(manifest, of) for (_, manifest), of in zip(data, rows, strict=True)]
        for batch in self._manifests.batches(wanted):
            self._work.check()
            kept = by_metadata.files(batch)
            for file in listed_files(zip((files for files, _ in batch), kept, strict=True)):
                made.append(self._task(file, request, fields))
                deletes_of.append([] if deletes is None else deletes.of(file))
                if len(made) % _CHECKED == 0:
                    self._work.check()
        documents = self._refer(made, deletes_of, by_metadata)
        if by_metadata.gave_up:
            detail = "the filter has too many expressions to compare with every file"
            _give_reason(pruned, ReasonCode.LOOK_UP_TOO_LARGE, detail)
        return ScanPlan(
            snapshot_id=snapshots[-1].snapshot_id if snapshots else None,
            tasks=made,
            deletes=documents,
            pages=pages,
            pruning=pruned.result(),
        )

    def _filters(self, request: ScanRequest, schema: Schema) -> tuple[MetadataFilter, EngineScan]:
        """The filter of a request for Iceberg's metadata, and what the index says of it."""
        columns = columns_in_manifests(schema)
        reader = FilterReader(
            schema,
            {column.field_id: path for path, column in columns.items()},
            case_sensitive=request.case_sensitive,
            limits=self._limits,
            work=self._work,
        )
        expression = reader.read(request.filter)
        rows = rows_where(bind(expression, column_types(columns), strict=False))
        by_metadata = MetadataFilter(rows, columns, self._specs, judgements=self._limits.judgements)
        self._work.check()
        pruned = self._pruner.prune(
            self._name,
            location=self._metadata.location,
            uuid=str(self._metadata.table_uuid),
            file_io={key: str(value) for key, value in self._io.properties.items()},
            columns=lambda: columns_of(self._metadata, schema),
            expression=lambda: expression,
        )
        if reader.opaque:
            detail = f"not understood in the filter: {', '.join(sorted(set(reader.opaque)))}"
            _give_reason(pruned, ReasonCode.NO_USABLE_PREDICATE, detail)
        return by_metadata, pruned

    def _rows(
        self,
        data: Sequence[tuple[int | None, Manifest]],
        pruned: EngineScan,
        page: Page | None,
        tasks: int | None,
    ) -> tuple[list[np.ndarray], list[Page]]:
        """Rows of each manifest that the index does not leave out, and the pages behind them."""
        manifests = [manifest for _, manifest in data]
        indexes = () if pruned.plan is None else pruned.plan.indexes
        numbers = [self._numbers(manifests, index) for index in indexes]
        if numbers:
            counts = [len(one) for one in numbers[0]]
        else:
            counts = self._manifests.of_each(manifests, ("count",), lambda of: list(map(len, of)))
        ends = np.cumsum(counts, dtype=np.int64)
        none = np.empty(0, np.int32)
        mask = pruned.keep_numbered([np.concatenate([none, *of]) for of in numbers], sum(counts))
        for at, (added_by, manifest) in enumerate(data):
            if added_by is not None:
                files = self._manifests.files([manifest])[0]
                mask[ends[at] - counts[at] : ends[at]] &= files.added & (
                    files.snapshots == added_by
                )
        known_by = _number_of(manifests)
        if page is not None:
            if page[2] != known_by:
                raise _gone(self._name)
            mask[: page[0]] = False
            mask[page[1] :] = False
        pages: list[Page] = []
        if tasks is not None:
            kept = mask.nonzero()[0]
            last = len(mask) if page is None else page[1]
            ends_of_pages = pairwise([*kept[::tasks].tolist()[1:], last])
            pages = [(first, end, known_by) for first, end in ends_of_pages]
            if pages:
                mask[pages[0][0] :] = False
        return [part.nonzero()[0] for part in np.split(mask, ends)[:-1]], pages

    def _numbers(self, manifests: Sequence[Manifest], index: OpenedIndex) -> list[np.ndarray]:
        """The numbers that an index has for the files of each manifest."""

        def look_up(tables: Sequence[pa.Table]) -> list[np.ndarray]:
            paths = normal_paths(pa.concat_tables(tables).column("path"))
            ends = np.cumsum([len(one) for one in tables], dtype=np.int64)
            numbers = index.numbers(paths).astype(np.int32)
            # a part would hold the whole
            return [part.copy() for part in np.split(numbers, ends)[:-1]]

        return self._manifests.of_each(manifests, (index.identity, "numbers"), look_up)

    def _task(
        self, file: ListedFile, request: ScanRequest, fields: frozenset[int]
    ) -> dict[str, Any]:
        return {
            "data-file": file_document(file, self._partition(file), fields),
            # a client that gets none takes it for true
            "residual-filter": True if request.filter is None else request.filter,
        }

    def _refer(
        self,
        tasks: Sequence[dict[str, Any]],
        deletes_of: Sequence[Sequence[ListedFile]],
        by_metadata: MetadataFilter,
    ) -> list[dict[str, Any]]:
        """Let tasks refer to their delete files that can be of a matching row; return these."""
        if not any(deletes_of):
            return []
        rows: dict[int, tuple[ManifestFiles, set[int]]] = {}
        for delete in (delete for deletes in deletes_of for delete in deletes):
            rows.setdefault(id(delete.files), (delete.files, set()))[1].add(delete.at)
        parts = [(files, np.array(sorted(at), np.int64)) for files, at in rows.values()]
        live = by_metadata.manifests([files.manifest for files, _ in parts])
        parts = [part for part, is_live in zip(parts, live.tolist(), strict=True) if is_live]
        kept = by_metadata.files(parts)
        can_matter = set(listed_files(zip((files for files, _ in parts), kept, strict=True)))
        # several deletion vectors share a file
        places: dict[tuple[str, int | None], int] = {}
        documents: list[dict[str, Any]] = []
        for task, deletes in zip(tasks, deletes_of, strict=True):
            references = []
            for delete in filter(can_matter.__contains__, deletes):
                key = (delete.path, delete.value("content_offset"))
                if key not in places:
                    places[key] = len(documents)
                    documents.append(file_document(delete, self._partition(delete)))
                references.append(places[key])
            if references:
                task["delete-file-references"] = references
        return documents

    def _partition(self, file: ListedFile) -> list[Any] | None:
        kind = self._partition_types[file.spec_id]
        return partition_document(file.partition, kind, for_pyiceberg=self._for_pyiceberg)

    def _wanted(self, request: ScanRequest) -> tuple[list[Snapshot], Schema]:
        """The snapshots whose files are wanted, and the schema of names."""
        metadata = self._metadata
        if request.start_snapshot_id is not None and request.end_snapshot_id is not None:
            last = self._snapshot(request.end_snapshot_id)
            return self._appended(request.start_snapshot_id, last), self._schema_of(last)
        if request.snapshot_id is None:
            current = metadata.current_snapshot()
            return [] if current is None else [current], metadata.schema()
        snapshot = self._snapshot(request.snapshot_id)
        schema = self._schema_of(snapshot) if request.use_snapshot_schema else metadata.schema()
        return [snapshot], schema

    def _snapshot(self, snapshot_id: int) -> Snapshot:
        snapshot = self._metadata.snapshot_by_id(snapshot_id)
        if snapshot is None:
            raise NotFoundError(
                f"{self._name} has no snapshot {snapshot_id}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="It may have expired; name another one.",
            )
        return snapshot

    def _schema_of(self, snapshot: Snapshot) -> Schema:
        by_id = {schema.schema_id: schema for schema in self._metadata.schemas}
        return self._metadata.schema() if (at := snapshot.schema_id) is None else by_id[at]

    def _appended(self, start: int, last: Snapshot) -> list[Snapshot]:
        """The appends after one snapshot until another."""
        appends = []
        by_id: dict[int | None, Snapshot] = {s.snapshot_id: s for s in self._metadata.snapshots}
        at: Snapshot | None = last
        for _ in by_id:  # a caller may have written a snapshot that is its own ancestor
            if at is None or at.snapshot_id == start:
                break
            if at.summary is not None and at.summary.operation == Operation.APPEND:
                appends.append(at)
            at = by_id.get(at.parent_snapshot_id)
        if at is None or at.snapshot_id != start:
            raise InvalidInputError(
                f"The snapshot {start} of {self._name} is no ancestor of {last.snapshot_id}.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Name two snapshots of one history, or read the table as a whole.",
            )
        return appends[::-1]

    def _read(self, path: str) -> bytes:
        """Read a manifest or a manifest list: whoever wrote its path is not trusted."""
        if self._bounds is not None:
            self._bounds.check_metadata([path])
        return read_through(self._io, path, self._limits.manifests.stored)


def _give_reason(pruned: EngineScan, code: ReasonCode, detail: str) -> None:
    pruned.reasons = (*pruned.reasons, Reason(code=code, detail=detail))


def _partition_type(spec: PartitionSpec, metadata: TableMetadata) -> StructType:
    """The type of a spec's partitions, by a schema that has its columns."""
    for schema in (metadata.schema(), *reversed(metadata.schemas)):
        try:
            return spec.partition_type(schema)
        except ValueError:
            continue
    raise NotFoundError(
        f"No schema of the table has the columns of its partition spec {spec.spec_id}.",
        kind=ErrorKind.COLUMN_NOT_FOUND,
        hint="Restore the table's metadata: no reader can read it.",
    )


def _statistics_fields(request: ScanRequest, schema: Schema) -> frozenset[int]:
    """Ids of the columns whose statistics are wanted."""
    fields = set()
    for name in request.stats_fields:
        try:
            fields.add(schema.find_field(name, request.case_sensitive).field_id)
        except ValueError:
            raise InvalidInputError(
                f"There is no column {name!r}.",
                kind=ErrorKind.COLUMN_NOT_FOUND,
                hint="Name columns of the table in stats-fields.",
            ) from None
    return frozenset(fields)


def _number_of(manifests: Sequence[Manifest]) -> int:
    paths = "\n".join(manifest.path for manifest in manifests)
    return int.from_bytes(hashlib.sha256(paths.encode()).digest()[:6])


def _gone(name: str) -> NotFoundError:
    return NotFoundError(
        f"The plan is of another state of {name}.",
        kind=ErrorKind.OBJECT_NOT_FOUND,
        hint="Plan the scan again.",
    )
