"""Upkeep of declared indexes: missing indexes are made, stale ones refreshed, old objects deleted.

Every step commits by itself and checks for other writers. Two processes that keep up the same
tables do some work twice, and what a killed process leaves is done by the next round.
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
from lakesieve.index.definition import key_columns
from lakesieve.index.maintenance import MaintenanceStep, TableMaintenance
from lakesieve.index.upkeep import Upkeep
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
"""An index is compacted when more than this share of its files is in no version any more."""


def maintain(
    tables: Sequence[DeclaredTable] | str,
    *,
    spark: SparkSession,
    dry_run: bool = False,
    going_on: Callable[[], bool] = lambda: True,
    observe: Callable[[str, MaintenanceStep], None] = lambda _table, _step: None,
) -> list[TableMaintenance]:
    """Do for each table what is due, once.

    What fails is in the result, and nothing else is kept from being done.

    Args:
        tables: What is declared, or the file that declares it.
        spark: The session.
        dry_run: Only find out what is due.
        going_on: Called between two steps: whether to go on.
        observe: Called with the table and each step, when it has been done or has failed.

    Raises:
        NotFoundError: There is no such file.
        InvalidInputError: The file declares what cannot be.

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
    """A declared index at the beginning of a round, and how many live files it lacks."""

    store: IndexStore
    state: Snapshot
    lacking: int

    @classmethod
    def of(cls, table: SparkTable, store: IndexStore, live: pa.ChunkedArray) -> _IndexLag:
        """Look at an index."""
        state = store.snapshot()
        covered = Upkeep(table=table.reader, store=store).covered(state)
        known = pc.sum(pc.is_in(live, value_set=covered)).as_py() or 0
        return cls(store=store, state=state, lacking=len(live) - int(known))


class _TableRound:
    """One round of one table."""

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
        """Look at the table, and do what is due."""
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
        """Yield what is due, each step done before the next is looked for."""
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
        """Return a failed step if the declared index cannot be made, in a dry run as well."""
        try:
            key_columns(table.reader, table.reader.version(), index.columns)
            access_by(self._spark).new_storage(table.reader, index.name, self._declared.location)
        except LakesieveError as error:
            if error.kind is ErrorKind.INDEX_EXISTS:
                # another process made it meanwhile, which the build finds out, too
                return None
            detail = f"on {', '.join(index.columns)}"
            return MaintenanceStep(
                action="create", index=index.name, detail=detail, error=_text(error)
            )
        return None

    def _create(self, wanted: Sequence[DeclaredIndex]) -> MaintenanceStep:
        """Make indexes of the same settings in one scan of the table."""
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
                )
            except InvalidInputError as error:
                if error.kind is not ErrorKind.INDEX_EXISTS:
                    raise
                return "another process made it meanwhile"
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
            done = convert(name, spark=spark, location=location)
            return f"{done.removed_files} equality delete files, {done.positions} positions"

        yield self._step("convert", None, f"{files} equality delete files", work)

    def _compact(
        self, name: str, index: SparkIndex, store: IndexStore
    ) -> Iterator[MaintenanceStep]:
        covered = store.snapshot().totals()["files"]
        kept = index.compact(dry_run=True).files if covered else 0
        if covered - kept > _DROPPED * covered:
            what = f"{covered - kept} of {covered} files are in no version of the table"
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
        """Do something, or say what would be done."""
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
    """Return how many files an index lacks, and how many seconds the table is newer than it."""
    now = version.timestamp_ms or 0
    behind = [lag for lag in lags if lag.lacking]
    files = max((lag.lacking for lag in behind), default=0)
    seen = (int(lag.state.table_version.get("timestamp_ms") or now) for lag in behind)
    return files, max(0.0, (now - min(seen, default=now)) / 1000)


def _differing(
    declared: Mapping[str, DeclaredIndex], stores: Mapping[str, IndexStore]
) -> Iterator[MaintenanceStep]:
    """Yield a step for each index that is not as declared, or not declared."""
    for name, store in stores.items():
        definition = store.snapshot().definition
        columns = ", ".join(column.name for column in definition.columns)
        if name not in declared:
            yield MaintenanceStep(action="undeclared", index=name, detail=f"on {columns}")
            continue
        wanted = declared[name]
        settings: dict[str, tuple[object, object]] = {
            "columns": (columns, ", ".join(wanted.columns)),
            "budget": (definition.budget, wanted.budget),
            "absent_hits": (definition.absent_hits, wanted.absent_hits),
            "compaction": (definition.compaction, wanted.compaction),
        }
        for setting, (present, value) in settings.items():
            if str(present).lower() != str(value).lower():
                detail = f"{setting} is {present or 'none'}, declared is {value or 'none'}"
                yield MaintenanceStep(action="drift", index=name, detail=detail)


def _alike(wanted: Sequence[DeclaredIndex]) -> list[list[DeclaredIndex]]:
    """Group indexes of the same settings, which are built in one scan."""
    groups: dict[tuple[object, ...], list[DeclaredIndex]] = {}
    for index in wanted:
        settings = (index.budget, index.absent_hits, index.compaction)
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
