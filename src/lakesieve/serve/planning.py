"""Plans of scans: Iceberg's own pruning, then the index, then the delete files of what is left."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from pyiceberg.manifest import ManifestContent
from pyiceberg.table.snapshots import Operation

from lakesieve.engines.iceberg_columns import columns_of, predicate_of
from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError
from lakesieve.index import Reason, ReasonCode
from lakesieve.serve.documents import data_file_document, delete_file_document, partition_document
from lakesieve.serve.fields import partition_type, statistics_fields
from lakesieve.serve.filters import FilterReader
from lakesieve.serve.limits import PlanLimits, RequestWork
from lakesieve.serve.listings import BATCH, TableListings
from lakesieve.serve.manifest_source import ManifestSource
from lakesieve.serve.pruning import MetadataPruner

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import ManifestFile
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from lakesieve.engines.pruning import FilePruner, Pruned
    from lakesieve.index import TablePruning
    from lakesieve.serve.bounds import TableBounds
    from lakesieve.serve.deletes import DeleteIndex
    from lakesieve.serve.kept import Tiers
    from lakesieve.serve.manifests import DeleteFile, ManifestFiles
    from lakesieve.serve.requests import ScanRequest

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


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class _Group:
    """A manifest of a snapshot.

    Args:
        manifest: The manifest.
        added_by: The snapshot whose own files are wanted; by default all are.
        deletes: The delete files of the snapshot, if there are any.
    """

    manifest: ManifestFile
    added_by: int | None
    deletes: DeleteIndex | None


@dataclass(slots=True)
class _Deletes:
    """Delete files of a plan, each once."""

    documents: list[dict[str, Any]] = field(default_factory=list)
    places: dict[tuple[str, int | None], int] = field(default_factory=dict)
    judged: dict[tuple[str, int | None], bool] = field(default_factory=dict)


class TablePlanner:
    """Plans scans of one state of a table.

    Args:
        name: The table's name.
        metadata: Its metadata.
        io: Reads its manifests.
        pruner: Knows its indexes.
        kept: Holds what manifests list.
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
        kept: Tiers,
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
        source = ManifestSource(io, bounds=bounds, limits=self._limits, work=self._work)
        self._listings = TableListings((grant, name), metadata, source, kept)
        self._for_pyiceberg = for_pyiceberg
        self._specs = metadata.specs()
        self._partition_types = {
            spec_id: partition_type(spec, metadata) for spec_id, spec in self._specs.items()
        }

    def plan(
        self, request: ScanRequest, *, page: Page | None = None, tasks: int | None = None
    ) -> ScanPlan:
        """Plan a scan.

        Raises:
            InvalidInputError: The filter or the names in the request do not fit the table.
            NotFoundError: There is no such snapshot.
        """
        snapshots, schema = self._wanted(request)
        fields = statistics_fields(request, schema)
        judge, pruned = self._judged(request, schema)
        groups = [
            group
            for snapshot in snapshots
            for group in self._groups(snapshot, judge, adds=request.end_snapshot_id is not None)
        ]
        rows, pages = self._rows(groups, pruned, page, tasks)
        deletes = _Deletes()
        made = []
        for files, index, kept in self._opened(groups, rows):
            self._work.check()
            for at in self._matching(files, kept, judge):
                partition = self._partition(files.spec_id, files.partitions[files.places[at]])
                task: dict[str, Any] = {
                    "data-file": data_file_document(files, at, partition, fields)
                }
                if index is not None:
                    of_file = self._deletes_of(files, at, index, judge, deletes)
                    if of_file:
                        task["delete-file-references"] = of_file
                # a client that gets none takes it for true
                task["residual-filter"] = True if request.filter is None else request.filter
                made.append(task)
                if len(made) % _CHECKED == 0:
                    self._work.check()
        if judge.gave_up:
            detail = "the filter has too many expressions to compare with every file"
            reason = Reason(code=ReasonCode.LOOK_UP_TOO_LARGE, detail=detail)
            pruned.reasons = (*pruned.reasons, reason)
        return ScanPlan(
            snapshot_id=snapshots[-1].snapshot_id if snapshots else None,
            tasks=made,
            deletes=deletes.documents,
            pages=pages,
            pruning=pruned.result(),
        )

    def _judged(self, request: ScanRequest, schema: Schema) -> tuple[MetadataPruner, Pruned]:
        """What Iceberg's metadata and the index say of the filter of a request."""
        reader = FilterReader(
            schema,
            case_sensitive=request.case_sensitive,
            limits=self._limits,
            work=self._work,
        )
        expression = reader.read(request.filter)
        judge = MetadataPruner(
            expression,
            schema,
            self._specs,
            self._partition_types,
            nodes=reader.nodes,
            judgements=self._limits.judgements,
        )
        self._work.check()
        pruned = self._pruned(expression, schema)
        if reader.opaque:
            detail = f"not understood in the filter: {', '.join(sorted(set(reader.opaque)))}"
            reason = Reason(code=ReasonCode.NO_USABLE_PREDICATE, detail=detail)
            pruned.reasons = (*pruned.reasons, reason)
        return judge, pruned

    def _groups(self, snapshot: Snapshot, judge: MetadataPruner, *, adds: bool) -> list[_Group]:
        """The manifests of a snapshot that can hold a match, or those that it adds."""
        manifests = self._listings.manifests(snapshot)
        deletes = None if adds else self._listings.deletes(manifests)
        added_by = snapshot.snapshot_id if adds else None
        return [
            _Group(manifest=manifest, added_by=added_by, deletes=deletes)
            for manifest in manifests
            if manifest.content == ManifestContent.DATA
            and judge.can_hold(manifest)
            and (not adds or manifest.added_snapshot_id == snapshot.snapshot_id)
        ]

    def _rows(
        self, groups: Sequence[_Group], pruned: Pruned, page: Page | None, tasks: int | None
    ) -> tuple[list[np.ndarray], list[Page]]:
        """Rows of each manifest that the index does not leave out, and the pages behind them."""
        manifests = [group.manifest for group in groups]
        indexes = () if pruned.plan is None else pruned.plan.indexes
        numbers = [self._listings.numbers(manifests, index) for index in indexes]
        counts = [len(one) for one in numbers[0]] if numbers else self._listings.counts(manifests)
        ends = np.cumsum(counts, dtype=np.int64)
        none = np.empty(0, np.int32)
        mask = pruned.keep_numbered([np.concatenate([none, *of]) for of in numbers], sum(counts))
        for at, group in enumerate(groups):
            if group.added_by is not None:
                files = self._listings.files([group.manifest])[0]
                new = files.added & (files.snapshots == group.added_by)
                mask[ends[at] - counts[at] : ends[at]] &= new
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

    def _opened(
        self, groups: Sequence[_Group], rows: Sequence[np.ndarray]
    ) -> Iterator[tuple[ManifestFiles, DeleteIndex | None, np.ndarray]]:
        """The files of the manifests that have rows in the plan, some at a time."""
        wanted = [one for one in zip(groups, rows, strict=True) if len(one[1])]
        for start in range(0, len(wanted), BATCH):
            batch = wanted[start : start + BATCH]
            files = self._listings.files([group.manifest for group, _ in batch])
            for (group, kept), of_manifest in zip(batch, files, strict=True):
                yield of_manifest, group.deletes, kept

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
        found = self._metadata.snapshot_by_id(snapshot_id)
        if found is None:
            raise NotFoundError(
                f"{self._name} has no snapshot {snapshot_id}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="It may have expired; name another one.",
            )
        return found

    def _schema_of(self, snapshot: Snapshot) -> Schema:
        by_id = {schema.schema_id: schema for schema in self._metadata.schemas}
        return self._metadata.schema() if (at := snapshot.schema_id) is None else by_id[at]

    def _appended(self, start: int, last: Snapshot) -> list[Snapshot]:
        """The appends after one snapshot until another."""
        found = []
        by_id: dict[int | None, Snapshot] = {s.snapshot_id: s for s in self._metadata.snapshots}
        at: Snapshot | None = last
        for _ in by_id:  # a caller may have written a snapshot that is its own ancestor
            if at is None or at.snapshot_id == start:
                break
            if at.summary is not None and at.summary.operation == Operation.APPEND:
                found.append(at)
            at = by_id.get(at.parent_snapshot_id)
        if at is None or at.snapshot_id != start:
            raise InvalidInputError(
                f"The snapshot {start} of {self._name} is no ancestor of {last.snapshot_id}.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Name two snapshots of one history, or read the table as a whole.",
            )
        return found[::-1]

    def _pruned(self, expression: BooleanExpression, schema: Schema) -> Pruned:
        return self._pruner.prune(
            self._name,
            location=self._metadata.location,
            uuid=str(self._metadata.table_uuid),
            file_io={key: str(value) for key, value in self._io.properties.items()},
            columns=lambda: columns_of(self._metadata, schema),
            expression=lambda: predicate_of(expression, self._metadata, schema),
        )

    def _partition(self, spec_id: int, partition: Any) -> list[Any] | None:
        kind = self._partition_types[spec_id]
        return partition_document(partition, kind, for_pyiceberg=self._for_pyiceberg)

    @staticmethod
    def _matching(files: ManifestFiles, kept: np.ndarray, judge: MetadataPruner) -> list[int]:
        """Those of some rows whose partitions and statistics can hold a match."""
        if judge.keeps_all or not len(kept):
            return [int(at) for at in kept]
        places = files.places[kept]
        of_partition = {
            place: judge.has_partition(files.spec_id, files.partitions[place])
            for place in np.unique(places).tolist()
        }
        return [
            at
            for at, place in zip(kept.tolist(), places.tolist(), strict=True)
            if of_partition[place] and judge.has_match(files.statistics(at))
        ]

    def _deletes_of(
        self,
        files: ManifestFiles,
        at: int,
        index: DeleteIndex,
        judge: MetadataPruner,
        deletes: _Deletes,
    ) -> list[int]:
        """The places of the delete files of a data file among those of the plan."""
        found = index.of(
            files.locations[at].as_py(),
            int(files.sequences[at]),
            (files.spec_id, files.keys[files.places[at]]),
            files.statistics(at),
        )
        places = []
        for delete in found:
            # several deletion vectors share a file
            key = (delete.file.file_path, delete.offset)
            if key not in deletes.judged:
                deletes.judged[key] = self._can_matter(delete, judge)
            if not deletes.judged[key]:
                continue
            if key not in deletes.places:
                deletes.places[key] = len(deletes.documents)
                partition = self._partition(delete.spec_id, delete.file.partition)
                deletes.documents.append(delete_file_document(delete, partition))
            places.append(deletes.places[key])
        return places

    @staticmethod
    def _can_matter(delete: DeleteFile, judge: MetadataPruner) -> bool:
        """Whether a delete file can be of a row that matches."""
        if judge.keeps_all:
            return True
        if not judge.can_hold(delete.manifest):
            return False
        in_partition = judge.has_partition(delete.spec_id, delete.file.partition)
        return in_partition and judge.has_match(delete.file)


def _number_of(manifests: Sequence[ManifestFile]) -> int:
    paths = "\n".join(manifest.manifest_path for manifest in manifests)
    return int.from_bytes(hashlib.sha256(paths.encode()).digest()[:6])


def _gone(name: str) -> NotFoundError:
    return NotFoundError(
        f"The plan is of another state of {name}.",
        kind=ErrorKind.OBJECT_NOT_FOUND,
        hint="Plan the scan again.",
    )
