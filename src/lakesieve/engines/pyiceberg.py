"""PyIceberg: scans of Iceberg tables, and all that plan through them, open only candidate files.

That is Polars' ``scan_iceberg``, Daft, and PyIceberg's own deletes and upserts as well. Partitions
and min/max are pruned by PyIceberg as before, deletes are matched by it, and every row is still
compared with the filter.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from lakesieve.engines import engine_scans
from lakesieve.engines.engine_scans import PLANNING_SECONDS, FilePruner, last_pruning
from lakesieve.engines.iceberg_columns import columns_in_manifests, columns_of, predicate_of
from lakesieve.engines.iceberg_plan import plan_files
from lakesieve.errors import ErrorKind, UnsupportedError, not_installed

__all__ = ["disable", "enable", "last_pruning", "scan"]

try:
    import pyiceberg.table as iceberg
    from pyiceberg.expressions.visitors import residual_evaluator_of
except ImportError as error:
    raise not_installed("PyIceberg is not installed.", "iceberg") from error

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import DataScan, FileScanTask, Table
    from pyiceberg.table.snapshots import Snapshot

    from lakesieve.engines.engine_scans import EngineScan

_PLAN = "_plan_files_local"
_ORIGINAL: dict[str, Callable[[DataScan], Iterable[FileScanTask]]] = {}


def enable(*, locations: Iterable[str] = (), seconds: float = PLANNING_SECONDS) -> None:
    """Make every scan of this process skip files from now on.

    Args:
        locations: Further roots to search for indexes, besides each table's own folder.
        seconds: How long a scan waits for the storage of indexes.

    Raises:
        UnsupportedError: This version of PyIceberg plans in another way.

    Examples:
        >>> from pyiceberg.table import StaticTable
        >>> newest = "warehouse/shop/orders/metadata/v1.metadata.json"
        >>> orders = StaticTable.from_metadata(newest)
        >>> ls.engines.pyiceberg.enable()
        >>> orders.scan("customer = 4711").to_arrow().num_rows
        1
        >>> ls.last_pruning()[0].files_read
        1
    """
    _check()
    disable()
    original = iceberg.DataScan._plan_files_local
    pruner = _pruner(tuple(locations), seconds)
    _ORIGINAL[_PLAN] = original
    setattr(iceberg.DataScan, _PLAN, lambda scan: _tasks(scan, pruner, original))


def disable() -> None:
    """Leave scans as they are from now on.

    Examples:
        >>> ls.engines.pyiceberg.disable()
    """
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

    Examples:
        >>> from pyiceberg.table import StaticTable
        >>> newest = "warehouse/shop/orders/metadata/v1.metadata.json"
        >>> orders = StaticTable.from_metadata(newest)
        >>> ls.engines.pyiceberg.scan(orders, "customer = 4711").to_arrow().num_rows
        1
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
    if not hasattr(iceberg.DataScan, _PLAN):
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
    """Return the tasks of a scan that must be read. After any error, these are all tasks."""
    snapshot = scan.snapshot()
    if snapshot is None:
        return original(scan)
    name = ".".join(scan.table_identifier or ()) or scan.table_metadata.location
    try:
        pruned = _pruned(scan, name, pruner)
        if pruned.plan is not None:
            tasks = _planned(scan, snapshot, pruned)
            engine_scans.remember([pruned])
            return tasks
    except Exception as error:  # noqa: BLE001 - what is wrong with the table, its own scan tells
        pruned = engine_scans.failed(name, error)
    tasks = list(original(scan))
    pruned.total = pruned.read = len(tasks)
    engine_scans.remember([pruned])
    return tasks


def _planned(scan: DataScan, snapshot: Snapshot, pruned: EngineScan) -> list[FileScanTask]:
    """The tasks of PyIceberg's plan, without the files that the indexes leave out."""
    metadata, schema = scan.table_metadata, scan.table_metadata.schema()
    columns = columns_in_manifests(schema)
    expression = predicate_of(scan.row_filter, metadata, schema, case_sensitive=scan.case_sensitive)
    tasks = []
    for planned in plan_files(metadata, scan.io, snapshot, expression, columns, pruned=pruned):
        if planned.wanted is not None:
            records = planned.file.value("record_count")
            pruned.read_whole(planned.wanted, records, "PyIceberg plans its scans by file")
        if planned.equality:
            raise ValueError("PyIceberg applies no equality deletes")
        residual = residual_evaluator_of(
            metadata.specs()[planned.file.spec_id], scan.row_filter, scan.case_sensitive, schema
        )
        task = planned.task(metadata, iceberg.ALWAYS_TRUE)
        try:
            task.residual = residual.residual_for(task.file.partition)
        except TypeError:
            # PyIceberg compares the nulls of partitions with numbers
            task.residual = scan.row_filter
        tasks.append(task)
    return tasks


def _pruned(scan: DataScan, name: str, pruner: FilePruner) -> EngineScan:
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
