"""PyIceberg: scans of Iceberg tables, and all that plan through them, open only candidate files.

That is Polars' ``scan_iceberg``, Daft, and PyIceberg's own deletes and upserts as well. Partitions
and min/max are pruned by PyIceberg as before, deletes are matched by it, and every row is still
compared with the filter.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from lakesieve.engines import pruning
from lakesieve.engines.iceberg_columns import columns_of, predicate_of
from lakesieve.engines.manifest_entries import live_entries, manifests_of
from lakesieve.engines.pruning import PLANNING_SECONDS, FilePruner, last_pruning
from lakesieve.errors import ErrorKind, UnsupportedError, not_installed

__all__ = ["disable", "enable", "last_pruning", "plan_tasks", "scan"]

try:
    import pyiceberg.table as iceberg
    from pyiceberg.manifest import DataFileContent, ManifestContent
    from pyiceberg.typedef import KeyDefaultDict
except ImportError as error:
    raise not_installed("PyIceberg is not installed.", "iceberg") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import ManifestEntry, ManifestFile
    from pyiceberg.table import DataScan, FileScanTask, Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.snapshots import Snapshot

    from lakesieve.engines.equality import EqualityDeletes
    from lakesieve.engines.pruning import Pruned

_PLAN = "_plan_files_local"
_BUILT = ("manifest_evaluator", "partition_evaluator", "metrics_evaluator")
_ORIGINAL: dict[str, Callable[[DataScan], Iterable[FileScanTask]]] = {}


def enable(*, locations: Iterable[str] = (), seconds: float = PLANNING_SECONDS) -> None:
    """Make every scan of this process skip files from now on.

    Args:
        locations: Further roots to search for indexes, besides each table's own folder.
        seconds: How long a scan waits for the storage of indexes.

    Raises:
        UnsupportedError: This version of PyIceberg plans in another way.
    """
    _check()
    disable()
    original = iceberg.DataScan._plan_files_local
    pruner = _pruner(tuple(locations), seconds)
    _ORIGINAL[_PLAN] = original
    setattr(iceberg.DataScan, _PLAN, lambda scan: _tasks(scan, pruner, original))


def disable() -> None:
    """Leave scans as they are from now on."""
    original = _ORIGINAL.pop(_PLAN, None)
    if original is not None:
        setattr(iceberg.DataScan, _PLAN, original)


def scan(
    table: Table,
    row_filter: str | BooleanExpression = iceberg.ALWAYS_TRUE,
    *,
    selected_fields: tuple[str, ...] = ("*",),
    case_sensitive: bool = True,
    snapshot_id: int | None = None,
    limit: int | None = None,
    options: Mapping[str, str] | None = None,
    locations: Iterable[str] = (),
) -> DataScan:
    """Scan a table as ``table.scan`` does, and skip files, whether or not ``enable`` was called.

    Args:
        table: The table.
        row_filter: Which rows.
        selected_fields: Which columns.
        case_sensitive: How names are compared.
        snapshot_id: Which snapshot; by default the current one.
        limit: How many rows at most.
        options: Further options of PyIceberg.
        locations: Further roots to search for indexes.

    Raises:
        UnsupportedError: This version of PyIceberg plans in another way.
    """
    _check()
    plain = table.scan(
        row_filter=row_filter,
        selected_fields=selected_fields,
        case_sensitive=case_sensitive,
        snapshot_id=snapshot_id,
        options=dict(options or {}),
        limit=limit,
    )
    found = _IndexedScan(
        table_metadata=plain.table_metadata,
        io=plain.io,
        row_filter=plain.row_filter,
        selected_fields=plain.selected_fields,
        case_sensitive=plain.case_sensitive,
        snapshot_id=plain.snapshot_id,
        options=plain.options,
        limit=plain.limit,
        catalog=plain.catalog,
        table_identifier=plain.table_identifier,
    )
    found.pruner = _pruner(tuple(locations))
    return found


@lru_cache(maxsize=16)
def _pruner(locations: tuple[str, ...], seconds: float = PLANNING_SECONDS) -> FilePruner:
    return FilePruner(locations, seconds=seconds)


def _check() -> None:
    """Insist that PyIceberg plans as it is known to."""
    planner = getattr(iceberg, "ManifestGroupPlanner", None)
    names = [f"_build_{name}" for name in _BUILT]
    known = hasattr(iceberg.DataScan, _PLAN) and all(hasattr(planner, name) for name in names)
    if not known:
        raise UnsupportedError(
            "This version of PyIceberg plans its scans in a way that is not known.",
            kind=ErrorKind.DEPENDENCY_MISSING,
            hint="Use PyIceberg 0.12, or look for a newer version of lakesieve.",
        )


class _IndexedScan(iceberg.DataScan):
    """A scan that skips files by itself."""

    pruner: FilePruner

    def _plan_files_local(self) -> Iterable[FileScanTask]:
        original = _ORIGINAL.get(_PLAN, iceberg.DataScan._plan_files_local)
        return _tasks(self, self.pruner, original)


def _tasks(
    scan: DataScan, pruner: FilePruner, original: Callable[[DataScan], Iterable[FileScanTask]]
) -> Iterable[FileScanTask]:
    """The tasks of a scan that must be read; all of them where anything goes wrong."""
    snapshot = scan.snapshot()
    if snapshot is None:
        return original(scan)
    name = ".".join(scan.table_identifier or ()) or scan.table_metadata.location
    try:
        pruned = _pruned(scan, name, pruner)
        if pruned.plan is not None:
            tasks = plan_tasks(
                scan.table_metadata,
                scan.io,
                scan.row_filter,
                snapshot,
                pruned,
                case_sensitive=scan.case_sensitive,
                options=scan.options,
            )
            pruning.remember([pruned])
            return tasks
    except Exception as error:  # noqa: BLE001 - what is wrong with the table, its own scan tells
        pruned = pruning.failed(name, error)
    tasks = list(original(scan))
    pruned.total = pruned.read = len(tasks)
    pruning.remember([pruned])
    return tasks


def plan_tasks(
    metadata: TableMetadata,
    io: FileIO,
    row_filter: BooleanExpression,
    snapshot: Snapshot,
    pruned: Pruned,
    *,
    case_sensitive: bool = True,
    options: Mapping[str, str] | None = None,
    equality: EqualityDeletes | None = None,
) -> list[FileScanTask]:
    """Plan as PyIceberg does, without the files that the indexes leave out.

    Args:
        metadata: Of the table.
        io: Reads its files.
        row_filter: By which partitions and minima and maxima are pruned.
        snapshot: The version.
        pruned: What the indexes say; it counts the files.
        case_sensitive: How names are compared.
        options: Further options of PyIceberg.
        equality: Takes up the equality deletes, which the caller applies; PyIceberg does not.

    Raises:
        ValueError: PyIceberg's: the version has equality deletes, and nothing takes them up.
    """
    planner = _Planner(
        table_metadata=metadata,
        io=io,
        row_filter=row_filter,
        case_sensitive=case_sensitive,
        options=dict(options or {}),
    )
    planner.pruned = pruned
    planner.equality = equality
    return list(planner.plan_files(manifests_of(snapshot, io)))


def _pruned(scan: DataScan, name: str, pruner: FilePruner) -> Pruned:
    metadata = scan.table_metadata
    schema = metadata.schema()
    return pruner.prune(
        name,
        location=metadata.location,
        uuid=str(metadata.table_uuid),
        file_io={key: str(value) for key, value in scan.io.properties.items()},
        columns=lambda: columns_of(metadata, schema),
        expression=lambda: predicate_of(
            scan.row_filter, metadata, schema, case_sensitive=scan.case_sensitive
        ),
    )


class _Planner(iceberg.ManifestGroupPlanner):
    """Plans as PyIceberg does, from the entries of files that must be read alone."""

    pruned: Pruned
    equality: EqualityDeletes | None

    def plan_manifest_entries(
        self, manifests: Iterable[ManifestFile]
    ) -> Iterator[list[ManifestEntry]]:
        """Entries of data files that can match, then those of all delete files."""
        listed = list(manifests)
        deletes = [m for m in listed if m.content != ManifestContent.DATA]
        # what PyIceberg builds for a partition spec serves all of its manifests
        can_match = KeyDefaultDict(self._build_manifest_evaluator)
        in_partition = KeyDefaultDict(self._build_partition_evaluator)
        matches = self._build_metrics_evaluator()
        data = [
            manifest
            for manifest in listed
            if manifest.content == ManifestContent.DATA
            and can_match[manifest.partition_spec_id](manifest)
        ]
        known = live_entries(data, self.io)
        chunks = [chunk for read in known for chunk in read.paths.chunks]
        keep = self.pruned.keep(pa.chunked_array(chunks, pa.string()))
        ends = np.cumsum([len(read) for read in known])
        kept = keep.nonzero()[0]
        places = np.searchsorted(ends, kept, side="right")
        for place in np.unique(places).tolist():
            partition = in_partition[data[place].partition_spec_id]
            first = int(ends[place]) - len(known[place])
            among = (known[place].entries[at - first] for at in kept[places == place].tolist())
            entries = [e for e in among if partition(e.data_file) and matches(e.data_file)]
            if self.equality is not None:
                self.equality.sequences |= {
                    entry.data_file.file_path: entry.sequence_number or 0 for entry in entries
                }
            yield entries
        for entries in super().plan_manifest_entries(deletes) if deletes else ():
            yield entries if self.equality is None else self._without_equality(entries)

    def _without_equality(self, entries: list[ManifestEntry]) -> list[ManifestEntry]:
        """The other deletes; those of equality are taken up."""
        assert self.equality is not None
        of_equality = DataFileContent.EQUALITY_DELETES
        found = [entry for entry in entries if entry.data_file.content == of_equality]
        self.equality.entries.extend(found)
        return [entry for entry in entries if entry.data_file.content != of_equality]
