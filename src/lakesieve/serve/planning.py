"""Plans of scans: Iceberg's own pruning, then the index, then the delete files of what is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyiceberg.manifest import ManifestContent
from pyiceberg.table.snapshots import Operation

from lakesieve.engines.iceberg_columns import columns_of, predicate_of
from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError
from lakesieve.index import Reason, ReasonCode
from lakesieve.serve.deletes import DeleteIndex
from lakesieve.serve.documents import data_file_document, delete_file_document
from lakesieve.serve.fields import all_fields, partition_type, statistics_fields
from lakesieve.serve.filters import FilterReader
from lakesieve.serve.manifests import first_row_id, read_deletes, read_files, read_list
from lakesieve.serve.pruning import MetadataPruner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import ManifestFile
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from lakesieve.engines.pruning import FilePruner, Pruned
    from lakesieve.index import TablePruning
    from lakesieve.serve.kept import Kept
    from lakesieve.serve.manifests import DeleteFile, ManifestFiles
    from lakesieve.serve.requests import ScanRequest

__all__ = ["Page", "ScanPlan", "TablePlanner"]

Page = tuple[int, int]
"""The first file of a part of a snapshot's files in the order of manifests, and the end of it."""


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
    """Files of one manifest.

    Args:
        files: What it lists.
        among: Which of them are wanted; all by default.
        deletes: The delete files of the snapshot, if there are any.
    """

    files: ManifestFiles
    among: np.ndarray | None
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
    """

    def __init__(
        self,
        name: str,
        metadata: TableMetadata,
        io: FileIO,
        pruner: FilePruner,
        kept: Kept,
    ) -> None:
        self._name = name
        self._metadata = metadata
        self._io = io
        self._pruner = pruner
        self._kept = kept
        self._specs = metadata.specs()
        self._partition_types = {
            spec_id: partition_type(spec, metadata) for spec_id, spec in self._specs.items()
        }

    def plan(
        self, request: ScanRequest, *, page: Page | None = None, tasks: int | None = None
    ) -> ScanPlan:
        """Plan a scan.

        Args:
            request: What is wanted.
            page: Which part of the files; all by default.
            tasks: How many tasks at most; the files of the others are in the plan's pages.

        Raises:
            InvalidInputError: The filter or the names in the request do not fit the table.
            NotFoundError: There is no such snapshot.
        """
        snapshots, schema = self._wanted(request)
        reader = FilterReader(schema, case_sensitive=request.case_sensitive)
        expression = reader.read(request.filter)
        fields = statistics_fields(request, schema)
        judge = MetadataPruner(expression, schema, self._specs, self._partition_types)
        pruned = self._pruned(expression, schema)
        if reader.opaque:
            detail = f"not understood in the filter: {', '.join(sorted(set(reader.opaque)))}"
            reason = Reason(code=ReasonCode.NO_USABLE_PREDICATE, detail=detail)
            pruned.reasons = (*pruned.reasons, reason)
        groups = [
            group
            for snapshot in snapshots
            for group in self._groups(snapshot, judge, adds=request.end_snapshot_id is not None)
        ]
        kept, pages = _pages(groups, pruned, page, tasks)
        deletes = _Deletes()
        made = []
        for group, rows in zip(groups, kept, strict=True):
            for at in self._matching(group.files, rows, judge):
                kind = self._partition_types[group.files.spec_id]
                task: dict[str, Any] = {
                    "data-file": data_file_document(group.files, at, kind, fields)
                }
                if group.deletes is not None:
                    of_file = self._deletes_of(group.files, at, group.deletes, judge, deletes)
                    if of_file:
                        task["delete-file-references"] = of_file
                # a client that gets none takes it for true
                task["residual-filter"] = True if request.filter is None else request.filter
                made.append(task)
        return ScanPlan(
            snapshot_id=snapshots[-1].snapshot_id if snapshots else None,
            tasks=made,
            deletes=deletes.documents,
            pages=pages,
            pruning=pruned.result(),
        )

    def _groups(self, snapshot: Snapshot, judge: MetadataPruner, *, adds: bool) -> list[_Group]:
        """The files of a snapshot, or those that it adds, by manifest."""
        manifests = self._manifests(snapshot)
        deletes = None if adds else self._delete_index(manifests)
        wanted = [
            manifest
            for manifest in manifests
            if manifest.content == ManifestContent.DATA
            and judge.can_hold(manifest)
            and (not adds or manifest.added_snapshot_id == snapshot.snapshot_id)
        ]
        found = []
        for files in self._files(wanted):
            new = files.added & (files.snapshots == snapshot.snapshot_id) if adds else None
            found.append(_Group(files=files, among=new, deletes=deletes))
        return found

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
        schema_id = snapshot.schema_id
        return self._metadata.schema() if schema_id is None else by_id[schema_id]

    def _appended(self, start: int, last: Snapshot) -> list[Snapshot]:
        """The appends after one snapshot until another."""
        found = []
        at: Snapshot | None = last
        while at is not None and at.snapshot_id != start:
            if at.summary is not None and at.summary.operation == Operation.APPEND:
                found.append(at)
            parent = at.parent_snapshot_id
            at = None if parent is None else self._metadata.snapshot_by_id(parent)
        if at is None:
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

    def _manifests(self, snapshot: Snapshot) -> list[ManifestFile]:
        def make() -> tuple[list[ManifestFile], int]:
            found = read_list(snapshot.manifest_list, self._io)
            return found, 1000 * len(found) + 500

        found: list[ManifestFile] = self._kept.get((snapshot.manifest_list, "list"), make)
        return found

    def _files(self, manifests: Sequence[ManifestFile]) -> list[ManifestFiles]:
        def make(manifest: ManifestFile) -> tuple[ManifestFiles, int]:
            found = read_files(manifest, self._io)
            return found, found.nbytes

        # rows are numbered when a table gets version 3, under the manifests that it has
        return self._kept.all(
            [
                ((manifest.manifest_path, first_row_id(manifest), "files"), partial(make, manifest))
                for manifest in manifests
            ]
        )

    def _delete_index(self, manifests: Sequence[ManifestFile]) -> DeleteIndex | None:
        """The delete files of a snapshot; ``None`` where there are none."""
        listed = [m for m in manifests if m.content == ManifestContent.DELETES]
        if not listed:
            return None

        def make() -> tuple[DeleteIndex, int]:
            deletes = [one for manifest in listed for one in read_deletes(manifest, self._io)]
            without = {spec_id for spec_id, spec in self._specs.items() if not spec.fields}
            index = DeleteIndex(
                deletes, unpartitioned=frozenset(without), fields=all_fields(self._metadata)
            )
            return index, 4000 * len(deletes) + 500

        paths = sorted(manifest.manifest_path for manifest in listed)
        # what a field is may change under the same files
        key = (*paths, self._metadata.current_schema_id, len(self._specs), "deletes")
        index: DeleteIndex = self._kept.get(key, make)
        return None if index.is_empty else index

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
                kind = self._partition_types[delete.spec_id]
                deletes.documents.append(delete_file_document(delete, kind))
            places.append(deletes.places[key])
        return places

    @staticmethod
    def _can_matter(delete: DeleteFile, judge: MetadataPruner) -> bool:
        """Whether a delete file can be of a row that matches."""
        if judge.keeps_all:
            return True
        in_partition = judge.has_partition(delete.spec_id, delete.file.partition)
        return in_partition and judge.has_match(delete.file)


def _pages(
    groups: Sequence[_Group], pruned: Pruned, page: Page | None, tasks: int | None
) -> tuple[list[np.ndarray], list[Page]]:
    """Rows of each group that the index does not leave out, and the pages behind them."""
    paths = pa.chunked_array([group.files.paths for group in groups], pa.string())
    ends = np.cumsum([len(group.files) for group in groups], dtype=np.int64)
    mask = pruned.keep(paths)
    for group, end in zip(groups, ends.tolist(), strict=True):
        if group.among is not None:
            mask[end - len(group.files) : end] &= group.among
    if page is not None:
        mask[: page[0]] = False
        mask[page[1] :] = False
    pages = []
    if tasks is not None:
        kept = mask.nonzero()[0]
        pages = list(pairwise([*kept[::tasks].tolist()[1:], len(mask)]))
        if pages:
            mask[pages[0][0] :] = False
    return [part.nonzero()[0] for part in np.split(mask, ends)[:-1]], pages
