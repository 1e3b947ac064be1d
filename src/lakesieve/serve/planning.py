"""Plans of scans: Iceberg's own pruning, then the index, then the delete files of what is left."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from pyiceberg.table.snapshots import Operation

from lakesieve.engines.engine_scans import FilePruner
from lakesieve.engines.iceberg_columns import columns_in_manifests, columns_of
from lakesieve.engines.iceberg_plan import (
    index_mask,
    kept_files,
    live_manifests,
    metadata_filter,
    rows_of_each,
)
from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError, UnsupportedError
from lakesieve.index import Reason, ReasonCode
from lakesieve.serve.documents import file_document, partition_document
from lakesieve.serve.filters import FilterReader
from lakesieve.serve.limits import PlanLimits, RequestWork
from lakesieve.serve.metrics import count_read
from lakesieve.tables.iceberg.delete_files import delete_index
from lakesieve.tables.iceberg.manifest_cache import ManifestCache
from lakesieve.tables.iceberg.manifest_files import listed_files
from lakesieve.tables.iceberg.table_manifests import ManifestSource, TableManifests, read_through

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot
    from pyiceberg.types import StructType

    from lakesieve.engines.engine_scans import EngineScan
    from lakesieve.index import TablePruning
    from lakesieve.serve.catalogs import ServedTable
    from lakesieve.serve.requests import ScanRequest
    from lakesieve.tables.iceberg.manifest_files import ListedFile, Manifest, ManifestFiles
    from lakesieve.tables.iceberg.metadata_filter import MetadataFilter

_CHECKED = 1000

Page = tuple[int, int, int]
"""The first data file of a page in the order of the manifests, the end of the page, and a number
that identifies these manifests."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanPlan:
    """The plan of one scan."""

    snapshot_id: int | None  # the snapshot that was planned; `None` for an empty table
    tasks: Sequence[dict[str, Any]]  # file scan tasks in the JSON of the specification
    deletes: Sequence[dict[str, Any]]  # the delete files to which they refer
    pages: Sequence[Page]  # the data files that are not planned yet
    pruning: TablePruning  # what was left out, and why not more


class PlanningContext:
    """What all plans of a server share: open indexes, manifests that were read, and limits."""

    def __init__(
        self,
        *,
        locations: Iterable[str] = (),  # further roots to search for indexes
        cache: ManifestCache | None = None,  # keeps manifests that were read
        tasks: int = 10_000,  # tasks in one answer, at most
        log_filters: bool = False,  # whether the log has the filters of plans, with their values
        limits: PlanLimits | None = None,
    ) -> None:
        self.pruner = FilePruner(locations)
        self.cache = cache or ManifestCache.of(1 << 30)
        self.tasks = tasks
        self.log_filters = log_filters
        self.limits = limits or PlanLimits()


class TablePlanner:
    """Plans scans of one state of a table, for one request.

    Raises:
        UnsupportedError: The table has a type or a feature that is not known here.
    """

    def __init__(
        self,
        name: str,
        table: ServedTable,
        context: PlanningContext,
        *,
        for_pyiceberg: bool = False,  # whether PyIceberg reads the plans
        work: RequestWork | None = None,  # says when the plans are no longer wanted
    ) -> None:
        if table.metadata is None:
            raise UnsupportedError(
                f"Scans of {name} are not planned here: it has a type or a feature that this "
                "server does not know.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Let the client plan them, by scan-planning-mode=client.",
            )
        self.context = context
        self._work = work or RequestWork()
        self._name = name
        self._metadata = table.metadata
        self._io = table.io
        self._bounds = bounds = table.bounds
        self._for_pyiceberg = for_pyiceberg
        owner = (table.grant, name, str(table.metadata.table_uuid))
        source = ManifestSource(
            read=self._read,
            owner=lambda _: owner,
            limits=context.limits.manifests,
            check=self._work.check,
            accept=lambda paths: None if bounds is None else bounds.check_data(paths),
            on_read=count_read,
        )
        self._manifests = TableManifests(source, context.cache)
        self._partition_types = {
            spec_id: _partition_type(spec, table.metadata)
            for spec_id, spec in table.metadata.specs().items()
        }

    def plan(
        self, request: ScanRequest, *, page: Page | None = None, tasks: int | None = None
    ) -> ScanPlan:
        """Plan a scan, or one page of it, in at most ``tasks`` tasks.

        Raises:
            InvalidInputError: The filter or the names in the request do not fit the table.
            NotFoundError: There is no such snapshot.
        """
        snapshots, schema = self._wanted(request)
        fields = _statistics_fields(request, schema)
        by_metadata, pruned = self._filters(request, schema)
        adds = request.end_snapshot_id is not None
        listed = [
            manifest
            for snapshot in snapshots
            for manifest in self._manifests.listed(snapshot.manifest_list)
            # an incremental scan wants what each of its snapshots has added
            if not adds or manifest.added_by == snapshot.snapshot_id
        ]
        data = live_manifests(listed, by_metadata)
        deletes = None if adds else delete_index(self._manifests, listed, self._metadata)
        mask, ends = index_mask(self._manifests, data, pruned)
        if adds:
            for manifest, rows in zip(data, np.split(mask, ends), strict=False):
                (files,) = self._manifests.files([manifest])
                rows[~files.added | (files.snapshots != manifest.added_by)] = False
        pages = self._pages(mask, data, page, tasks)
        made: list[dict[str, Any]] = []
        deletes_of: list[list[ListedFile]] = []
        # a client that gets none takes it for true
        residual = True if request.filter is None else request.filter
        for file in kept_files(self._manifests, data, rows_of_each(mask, ends), by_metadata):
            made.append(self._task(file, residual, fields))
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
        """Return the filter of a request for Iceberg's metadata, and what the index says of it."""
        columns, limits = columns_in_manifests(schema), self.context.limits
        reader = FilterReader(
            schema,
            {column.field_id: path for path, column in columns.items()},
            case_sensitive=request.case_sensitive,
            limits=limits,
            work=self._work,
        )
        expression = reader.read(request.filter)
        by_metadata = metadata_filter(expression, columns, self._metadata, limits.judgements)
        self._work.check()
        pruned = self.context.pruner.prune(
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

    def _pages(
        self, mask: np.ndarray, data: Sequence[Manifest], page: Page | None, tasks: int | None
    ) -> list[Page]:
        """Keep only the files of this page in a mask of data files. Return the later pages."""
        paths = "\n".join(manifest.path for manifest in data)
        known_by = int.from_bytes(hashlib.sha256(paths.encode()).digest()[:6])
        if page is not None:
            if page[2] != known_by:
                raise NotFoundError(
                    f"This page belongs to a plan for another state of {self._name}.",
                    kind=ErrorKind.OBJECT_NOT_FOUND,
                    hint="Plan the scan again.",
                )
            mask[: page[0]] = False
            mask[page[1] :] = False
        if tasks is None:
            return []
        starts = mask.nonzero()[0][tasks::tasks].tolist()
        if starts:
            mask[starts[0] :] = False
        last = len(mask) if page is None else page[1]
        return [(first, end, known_by) for first, end in pairwise([*starts, last])]

    def _task(self, file: ListedFile, residual: Any, fields: frozenset[int]) -> dict[str, Any]:
        return {
            "data-file": file_document(file, self._partition(file), fields),
            "residual-filter": residual,
        }

    def _refer(
        self,
        tasks: Sequence[dict[str, Any]],
        deletes_of: Sequence[Sequence[ListedFile]],
        by_metadata: MetadataFilter,
    ) -> list[dict[str, Any]]:
        """Let tasks refer to the delete files that can apply to a matching row, and return them."""
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
        """Return the snapshots whose files are wanted, and the schema of names."""
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
        """Return the appends after one snapshot until another."""
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
                f"The snapshot {start} of {self._name} is not an ancestor of {last.snapshot_id}.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Name two snapshots of one history, or read the table as a whole.",
            )
        return appends[::-1]

    def _read(self, path: str) -> bytes:
        """Read a manifest or a manifest list: whoever wrote its path is not trusted."""
        if self._bounds is not None:
            self._bounds.check_metadata([path])
        return read_through(self._io, path, self.context.limits.manifests.stored)


def _give_reason(pruned: EngineScan, code: ReasonCode, detail: str) -> None:
    pruned.reasons = (*pruned.reasons, Reason(code=code, detail=detail))


def _partition_type(spec: PartitionSpec, metadata: TableMetadata) -> StructType:
    """Return the partition type of a spec. The schema must have the spec's source columns."""
    for schema in (metadata.schema(), *reversed(metadata.schemas)):
        try:
            return spec.partition_type(schema)
        except ValueError:
            continue
    raise NotFoundError(
        f"No schema of the table has the columns of its partition spec {spec.spec_id}.",
        kind=ErrorKind.COLUMN_NOT_FOUND,
        hint="Restore the table's metadata. No reader can read the table as it is.",
    )


def _statistics_fields(request: ScanRequest, schema: Schema) -> frozenset[int]:
    """Return the ids of the columns whose statistics are wanted."""
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
