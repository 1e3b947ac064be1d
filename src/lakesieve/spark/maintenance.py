"""Maintain declared indexes: create missing ones, refresh stale ones, delete old objects.

Every step makes its own commit and checks for other writers. Two processes that maintain the same
tables do some work twice. The next round does what a killed process left undone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError
from lakesieve.index import RefreshResult, ShownList
from lakesieve.index.declared import read_declarations
from lakesieve.index.maintenance import MaintenanceStep, TableMaintenance
from lakesieve.index.upkeep import Upkeep
from lakesieve.spark.build.keys import index_keys
from lakesieve.spark.build.refresh import refresh_each
from lakesieve.spark.create import create_indexes
from lakesieve.spark.deletes.convert import convert
from lakesieve.spark.deletes.status import status
from lakesieve.spark.index import SparkIndex
from lakesieve.spark.session.access import access_by
from lakesieve.spark.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.index.declared import DeclaredIndex, DeclaredTable
    from lakesieve.spark.tables import SparkTable
    from lakesieve.store import IndexStore, Snapshot, Vacuumed
    from lakesieve.tables import TableVersion

__all__ = ["maintain"]

_DROPPED = 0.2
"""An index is compacted if more than this share of its files is in no version of the table."""


def maintain(
    tables: Sequence[DeclaredTable] | str,
    *,
    spark: SparkSession,
    dry_run: bool = False,
    going_on: Callable[[], bool] = lambda: True,
    observe: Callable[[str, MaintenanceStep], None] = lambda _table, _step: None,
) -> list[TableMaintenance]:
    """Do what is due for each table, once.

    A failure becomes part of the result and does not stop the remaining work.

    Args:
        tables: The declarations, or the path of the file with them.
        spark: The session.
        dry_run: Change nothing. Only find out what is due.
        going_on: Called between two steps. If it returns false, the work ends.
        observe: Called with the table and each step, after the step was done or has failed.

    Raises:
        NotFoundError: The file does not exist.
        InvalidInputError: The file has invalid declarations.

    Examples:
        >>> done = ls.maintain("lakesieve.toml", spark=spark, dry_run=True)
        >>> done[0].table
        'lake.shop.orders'
    """
    rounds: ShownList[TableMaintenance] = ShownList()
    for table in read_declarations(tables) if isinstance(tables, str) else tables:
        if not going_on():
            break
        rounds.append(_TableRound(table, spark, going_on, observe, dry_run=dry_run).run())
    return rounds


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _IndexLag:
    """A declared index at the beginning of a round, and the number of live files that it lacks."""

    store: IndexStore
    state: Snapshot
    lacking: int

    @classmethod
    def of(cls, table: SparkTable, store: IndexStore, live: pa.ChunkedArray) -> _IndexLag:
        """Compare an index with the live files."""
        state = store.snapshot()
        covered = Upkeep(table=table.reader, store=store).covered(state)
        covered_count = pc.sum(pc.is_in(live, value_set=covered)).as_py() or 0
        return cls(store=store, state=state, lacking=len(live) - int(covered_count))


class _TableRound:
    """One round of maintenance of one table."""

    def __init__(
        self,
        declared: DeclaredTable,
        spark: SparkSession,
        going_on: Callable[[], bool],
        observe: Callable[[str, MaintenanceStep], None],
        *,
        dry_run: bool,
    ) -> None:
        self._declared = declared
        self._indexes = {index.name: index for index in declared.indexes}
        self._spark = spark
        self._going_on = going_on
        self._observe = observe
        self._dry_run = dry_run

    def run(self) -> TableMaintenance:
        """Inspect the table, and do what is due."""
        started = time.perf_counter()
        steps: list[MaintenanceStep] = []
        lag_files, lag_seconds, files, size, error = 0, 0.0, 0, 0, None
        try:
            table = open_table(self._spark, self._declared.name)
            version = table.reader.version()
            live = _live_paths(table, version)
            files = len(live)
            stores = self._stores(table)
            lags = {
                name: _IndexLag.of(table, stores[name], live)
                for name in self._indexes
                if name in stores
            }
            lag_files, lag_seconds = _lag(lags.values(), version)
            for step in self._work(table, stores, lags):
                steps.append(step)
                if step.done or step.error is not None:
                    self._observe(self._declared.name, step)
                if not self._going_on():
                    break
            present = self._stores(table)
            declared = [present[name] for name in self._indexes if name in present]
            size = sum(store.snapshot().totals()["bytes"] for store in declared)
        except Exception as failure:  # noqa: BLE001 - the other tables are looked at all the same
            error = _text(failure)
        return TableMaintenance(
            table=self._declared.name,
            steps=tuple(steps),
            lag_files=lag_files,
            lag_seconds=lag_seconds,
            files=files,
            bytes=size,
            seconds=time.perf_counter() - started,
            dry_run=self._dry_run,
            error=error,
        )

    def _stores(self, table: SparkTable) -> dict[str, IndexStore]:
        return access_by(self._spark).stores(table.reader, self._declared.location)

    def _work(
        self,
        table: SparkTable,
        stores: Mapping[str, IndexStore],
        lags: Mapping[str, _IndexLag],
    ) -> Iterator[MaintenanceStep]:
        """Yield each due step after doing it. The next step is looked for only then."""
        yield from _differing(self._indexes, stores)
        missing: list[DeclaredIndex] = []
        for name, index in self._indexes.items():
            if name not in stores:
                wrong = self._unusable(table, index)
                if wrong is None:
                    missing.append(index)
                else:
                    yield wrong
        for same in _alike(missing):
            yield self._create(same)
        yield from self._refresh(table, lags)
        if self._declared.convert_deletes and table.reader.format == "iceberg":
            yield from self._convert()
        for name, lag in lags.items():
            index_there = SparkIndex(self._spark, table, lag.store.storage)
            yield from self._compact(name, index_there, lag.store)
            yield from self._vacuum(name, index_there)

    def _unusable(self, table: SparkTable, index: DeclaredIndex) -> MaintenanceStep | None:
        """Return a failed step if the declared index cannot be created.

        It also works in a dry run.
        """
        try:
            index_keys(table, table.reader.version(), index.columns)
            access_by(self._spark).new_storage(table.reader, index.name, self._declared.location)
        except LakesieveError as error:
            if error.kind is ErrorKind.INDEX_EXISTS:
                # another process created it meanwhile; the build finds that out as well
                return None
            detail = f"on {', '.join(index.columns)}"
            return MaintenanceStep(
                action="create", index=index.name, detail=detail, error=_text(error)
            )
        return None

    def _create(self, wanted: Sequence[DeclaredIndex]) -> MaintenanceStep:
        """Create indexes with the same settings in one scan of the table."""
        first = wanted[0]
        columns = "; ".join(", ".join(index.columns) for index in wanted)

        def create() -> str:
            try:
                create_indexes(
                    self._declared.name,
                    [list(index.columns) for index in wanted],
                    spark=self._spark,
                    names=[index.name for index in wanted],
                    location=self._declared.location,
                    budget=first.budget or None,
                    absent_hits=first.absent_hits,
                    compaction=first.compaction,
                    rows_per_block=first.rows_per_block or None,
                )
            except InvalidInputError as error:
                if error.kind is not ErrorKind.INDEX_EXISTS:
                    raise
                return "another process created it meanwhile"
            return f"on {columns}"

        names = ", ".join(index.name for index in wanted)
        return self._step("create", names, f"on {columns}", create)

    def _refresh(
        self, table: SparkTable, lags: Mapping[str, _IndexLag]
    ) -> Iterator[MaintenanceStep]:
        all_refs = self._declared.all_refs
        due = {name: lag.store for name, lag in lags.items() if lag.lacking or all_refs}
        if not due:
            return
        details = {name: f"{lags[name].lacking} data files" for name in due}
        if self._dry_run:
            for name, detail in details.items():
                yield MaintenanceStep(action="refresh", index=name, detail=detail)
            return
        begun = time.perf_counter()
        outcomes = refresh_each(self._spark, table, due, all_refs=all_refs)
        seconds = time.perf_counter() - begun
        for name, outcome in outcomes.items():
            detail, error = details[name], None
            if isinstance(outcome, RefreshResult):
                if not outcome.files and not outcome.compacted:
                    continue
                merged = ", deltas merged" if outcome.compacted else ""
                detail = f"{outcome.files} data files, {outcome.rows} rows{merged}"
            else:
                error = _text(outcome)
            yield MaintenanceStep(
                action="refresh",
                index=name,
                detail=detail,
                done=error is None,
                seconds=seconds,
                error=error,
            )

    def _convert(self) -> Iterator[MaintenanceStep]:
        name, spark, location = self._declared.name, self._spark, self._declared.location
        files = status(name, spark=spark, count_keys=False).equality_files
        if not files:
            return

        def work() -> str:
            conversion = convert(name, spark=spark, location=location)
            files, positions = conversion.removed_files, conversion.positions
            return f"{files} equality delete files, {positions} positions"

        yield self._step("convert", None, f"{files} equality delete files", work)

    def _compact(
        self, name: str, index: SparkIndex, store: IndexStore
    ) -> Iterator[MaintenanceStep]:
        covered = store.snapshot().totals()["files"]
        still_used = index.compact(dry_run=True).files if covered else 0
        if covered - still_used > _DROPPED * covered:
            what = f"{covered - still_used} of {covered} files are in no version of the table"
            yield self._step(
                "compact", name, what, lambda: f"{covered - index.compact().files} files dropped"
            )

    def _vacuum(self, name: str, index: SparkIndex) -> Iterator[MaintenanceStep]:
        vacuum = partial(
            index.vacuum,
            retain_commits=self._declared.retain_commits,
            older_than=timedelta(hours=self._declared.retain_hours),
        )
        due = vacuum(dry_run=True)
        if due.paths:
            yield self._step("vacuum", name, _freed(due), lambda: _freed(vacuum(dry_run=False)))

    def _step(
        self, action: str, index: str | None, detail: str, work: Callable[[], str]
    ) -> MaintenanceStep:
        """Do one step, or in a dry run say what would be done."""
        if self._dry_run:
            return MaintenanceStep(action=action, index=index, detail=detail)
        begun = time.perf_counter()
        error = None
        try:
            detail = work()
        except Exception as failure:  # noqa: BLE001 - it is the outcome of this step alone
            error = _text(failure)
        return MaintenanceStep(
            action=action,
            index=index,
            detail=detail,
            done=error is None,
            seconds=time.perf_counter() - begun,
            error=error,
        )


def _lag(lags: Iterable[_IndexLag], version: TableVersion) -> tuple[int, float]:
    """Return how many files an index lacks, and how many seconds it is older than the table."""
    now = version.timestamp_ms or 0
    behind = [lag for lag in lags if lag.lacking]
    files = max((lag.lacking for lag in behind), default=0)
    times = (int(lag.state.table_version.get("timestamp_ms") or now) for lag in behind)
    return files, max(0.0, (now - min(times, default=now)) / 1000)


def _differing(
    declared: Mapping[str, DeclaredIndex], stores: Mapping[str, IndexStore]
) -> Iterator[MaintenanceStep]:
    """Yield a step for each index that differs from its declaration or has none."""
    for name, store in stores.items():
        definition = store.snapshot().definition
        columns = ", ".join(definition.key_names)
        if name not in declared:
            yield MaintenanceStep(action="undeclared", index=name, detail=f"on {columns}")
            continue
        declaration = declared[name]
        settings: dict[str, tuple[object, object]] = {
            "columns": (columns, ", ".join(declaration.columns)),
            "budget": (definition.budget, declaration.budget),
            "absent_hits": (definition.absent_hits, declaration.absent_hits),
            "compaction": (definition.compaction, declaration.compaction),
        }
        if declaration.rows_per_block != "auto":
            rows = (definition.rows_per_block, declaration.rows_per_block)
            settings["rows_per_block"] = rows
        for setting, (present, value) in settings.items():
            if str(present).lower() != str(value).lower():
                detail = f"{setting} is {present or 'none'}, declared is {value or 'none'}"
                yield MaintenanceStep(action="drift", index=name, detail=detail)


def _alike(wanted: Sequence[DeclaredIndex]) -> list[list[DeclaredIndex]]:
    """Group indexes with the same settings, which one scan can build."""
    groups: dict[tuple[object, ...], list[DeclaredIndex]] = {}
    for index in wanted:
        settings = (index.budget, index.absent_hits, index.compaction, index.rows_per_block)
        groups.setdefault(settings, []).append(index)
    return list(groups.values())


def _live_paths(table: SparkTable, version: TableVersion) -> pa.ChunkedArray:
    if version.id is None:
        return pa.chunked_array([], pa.string())
    return table.reader.live_files(version).column("path")


def _freed(vacuumed: Vacuumed) -> str:
    return f"{len(vacuumed.paths)} objects, {vacuumed.bytes} bytes"


def _text(error: Exception) -> str:
    if isinstance(error, LakesieveError):
        return str(error)
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
