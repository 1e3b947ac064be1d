"""Declared indexes kept up: what is missing is made, what lags is refreshed, what is old goes.

Every step is one that commits by itself and checks for others: two that keep up the same tables do
some work twice, and a process that is killed leaves what the next round goes on with.
"""

from __future__ import annotations

import time
from datetime import timedelta
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError
from lakesieve.index import Refreshed, ShownList
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
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.index.declared import DeclaredIndex, DeclaredTable
    from lakesieve.spark.tables import SparkTable
    from lakesieve.store import IndexStore, Snapshot
    from lakesieve.tables import TableVersion

__all__ = ["maintain"]

_DROPPED = 0.2
"""Share of the covered files that no version keeps any more from which on an index is compacted."""


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
    """
    rounds: ShownList[TableMaintenance] = ShownList()
    for table in read_declarations(tables) if isinstance(tables, str) else tables:
        if not going_on():
            break
        rounds.append(_Round(table, spark, going_on, observe).run(dry_run=dry_run))
    return rounds


class _Round:
    """One round of one table.

    Args:
        declared: The table.
        spark: The session.
        going_on: Whether to go on.
        observe: Called with each step.
    """

    def __init__(
        self,
        declared: DeclaredTable,
        spark: SparkSession,
        going_on: Callable[[], bool],
        observe: Callable[[str, MaintenanceStep], None],
    ) -> None:
        self._declared = declared
        self._spark = spark
        self._going_on = going_on
        self._observe = observe
        self._steps: list[MaintenanceStep] = []

    def run(self, *, dry_run: bool) -> TableMaintenance:
        """Look, and do what is due."""
        started = time.perf_counter()
        lag_files, lag_seconds, files, size, error = 0, 0.0, 0, 0, None
        try:
            table = open_table(self._spark, self._declared.name)
            version = table.reader.version()
            live = _live_paths(table, version)
            files = len(live)
            lag_files, lag_seconds = self._lag(table, version, live)
            for step in self._work(table, live, dry_run=dry_run):
                self._steps.append(step)
                if step.done or step.error is not None:
                    self._observe(self._declared.name, step)
                if not self._going_on():
                    break
            size = sum(map(_size, self._states(table)))
        except Exception as failure:  # noqa: BLE001 - the other tables are looked at all the same
            error = _text(failure)
        return TableMaintenance(
            table=self._declared.name,
            steps=tuple(self._steps),
            lag_files=lag_files,
            lag_seconds=lag_seconds,
            files=files,
            bytes=size,
            seconds=time.perf_counter() - started,
            dry_run=dry_run,
            error=error,
        )

    def _declared_stores(self, table: SparkTable) -> Mapping[str, IndexStore]:
        """The declared indexes that are there."""
        found = access_by(self._spark).stores(table.reader, self._declared.location)
        return {one.name: found[one.name] for one in self._declared.indexes if one.name in found}

    def _states(self, table: SparkTable) -> list[Snapshot]:
        return [store.snapshot() for store in self._declared_stores(table).values()]

    def _lag(
        self, table: SparkTable, version: TableVersion, live: pa.ChunkedArray
    ) -> tuple[int, float]:
        """Files that an index lacks, and how much older than the table what it has seen is."""
        files, oldest = 0, version.timestamp_ms or 0
        for store in self._declared_stores(table).values():
            state = store.snapshot()
            lacking = _uncovered(table, store, live)
            if not lacking:
                continue
            files = max(files, lacking)
            oldest = min(oldest, int(state.table_version.get("timestamp_ms") or oldest))
        return files, max(0.0, ((version.timestamp_ms or 0) - oldest) / 1000)

    def _work(
        self, table: SparkTable, live: pa.ChunkedArray, *, dry_run: bool
    ) -> Iterator[MaintenanceStep]:
        """What is due, each step done before the next is looked for."""
        all_stores = access_by(self._spark).stores(table.reader, self._declared.location)
        declared = {one.name: one for one in self._declared.indexes}
        yield from _differing(declared, all_stores)
        missing: list[DeclaredIndex] = []
        for name, one in declared.items():
            if name not in all_stores:
                wrong = self._unusable(table, one)
                missing += [one] if wrong is None else []
                yield from () if wrong is None else (wrong,)
        for same in _alike(missing):
            yield from self._created(same, dry_run=dry_run)
        stores = {name: all_stores[name] for name in declared if name in all_stores}
        yield from self._refreshed(table, stores, live, dry_run=dry_run)
        if self._declared.convert_deletes and table.reader.format == "iceberg":
            yield from self._converted(dry_run=dry_run)
        for name, store in stores.items():
            index = SparkIndex(self._spark, table, store.storage)
            yield from self._compacted(name, index, store, dry_run=dry_run)
            yield from self._vacuumed(name, index, dry_run=dry_run)

    def _unusable(self, table: SparkTable, one: DeclaredIndex) -> MaintenanceStep | None:
        """Return a failed step if the declared index cannot be made, in a dry run as well."""
        try:
            key_columns(table.reader, table.reader.version(), one.columns)
            access_by(self._spark).new_storage(table.reader, one.name, self._declared.location)
        except LakesieveError as error:
            if error.kind is ErrorKind.INDEX_EXISTS:
                # another process made it meanwhile, which the build finds out, too
                return None
            detail = f"on {', '.join(one.columns)}"
            return MaintenanceStep(
                action="create", index=one.name, detail=detail, error=_text(error)
            )
        return None

    def _created(
        self, wanted: Sequence[DeclaredIndex], *, dry_run: bool
    ) -> Iterator[MaintenanceStep]:
        """Indexes that are missing, in one scan of the table."""
        first = wanted[0]
        columns = "; ".join(", ".join(one.columns) for one in wanted)

        def make() -> str:
            try:
                create_indexes(
                    self._declared.name,
                    [list(one.columns) for one in wanted],
                    spark=self._spark,
                    names=[one.name for one in wanted],
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

        name = ", ".join(one.name for one in wanted)
        yield self._step("create", name, f"on {columns}", make, dry_run=dry_run)

    def _refreshed(
        self,
        table: SparkTable,
        stores: Mapping[str, IndexStore],
        live: pa.ChunkedArray,
        *,
        dry_run: bool,
    ) -> Iterator[MaintenanceStep]:
        lacking = {name: _uncovered(table, store, live) for name, store in stores.items()}
        due = {name: store for name, store in stores.items() if lacking[name]}
        if self._declared.all_refs:
            due = dict(stores)
        if not due:
            return
        if dry_run:
            for name in due:
                yield MaintenanceStep(
                    action="refresh", index=name, detail=f"{lacking[name]} data files"
                )
            return
        begun = time.perf_counter()
        outcomes = refresh_each(self._spark, table, due, all_refs=self._declared.all_refs)
        seconds = time.perf_counter() - begun
        for name, outcome in outcomes.items():
            if isinstance(outcome, Refreshed):
                if not outcome.files and not outcome.compacted:
                    continue
                merged = ", deltas merged" if outcome.compacted else ""
                detail = f"{outcome.files} data files, {outcome.rows} rows{merged}"
                yield MaintenanceStep(
                    action="refresh", index=name, detail=detail, done=True, seconds=seconds
                )
            else:
                yield MaintenanceStep(
                    action="refresh",
                    index=name,
                    detail=f"{lacking[name]} data files",
                    seconds=seconds,
                    error=_text(outcome),
                )

    def _converted(self, *, dry_run: bool) -> Iterator[MaintenanceStep]:
        before = status(self._declared.name, spark=self._spark, count_keys=False)
        if not before.equality_files:
            return
        what = f"{before.equality_files} equality delete files"

        def work() -> str:
            made = convert(self._declared.name, spark=self._spark, location=self._declared.location)
            return f"{made.removed_files} equality delete files, {made.positions} positions"

        yield self._step("convert", None, what, work, dry_run=dry_run)

    def _compacted(
        self,
        name: str,
        index: SparkIndex,
        store: IndexStore,
        *,
        dry_run: bool,
    ) -> Iterator[MaintenanceStep]:
        covered = store.snapshot().totals()["files"]
        kept = index.compact(dry_run=True).files if covered else 0
        if covered - kept <= _DROPPED * covered:
            return
        what = f"{covered - kept} of {covered} files are in no version of the table"
        yield self._step(
            "compact",
            name,
            what,
            lambda: f"{covered - index.compact().files} files dropped",
            dry_run=dry_run,
        )

    def _vacuumed(
        self, name: str, index: SparkIndex, *, dry_run: bool
    ) -> Iterator[MaintenanceStep]:
        vacuum = partial(
            index.vacuum,
            retain_commits=self._declared.retain_commits,
            older_than=timedelta(hours=self._declared.retain_hours),
        )
        due = vacuum(dry_run=True)
        if not due.paths:
            return

        def work() -> str:
            gone = vacuum(dry_run=False)
            return f"{len(gone.paths)} objects, {gone.bytes} bytes"

        what = f"{len(due.paths)} objects, {due.bytes} bytes"
        yield self._step("vacuum", name, what, work, dry_run=dry_run)

    def _step(
        self,
        action: str,
        index: str | None,
        detail: str,
        work: Callable[[], str],
        *,
        dry_run: bool,
    ) -> MaintenanceStep:
        """Do something, or say what would be done."""
        if dry_run:
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


def _differing(
    declared: Mapping[str, DeclaredIndex], stores: Mapping[str, IndexStore]
) -> Iterator[MaintenanceStep]:
    """Indexes that are not as declared, or not declared."""
    for name, store in stores.items():
        definition = store.snapshot().definition
        one = declared.get(name)
        if one is None:
            columns = ", ".join(column.name for column in definition.columns)
            yield MaintenanceStep(action="undeclared", index=name, detail=f"on {columns}")
            continue
        is_there = {
            "columns": ", ".join(column.name for column in definition.columns),
            "budget": definition.budget,
            "absent_hits": definition.absent_hits,
            "compaction": definition.compaction,
        }
        wanted = {
            "columns": ", ".join(one.columns),
            "budget": one.budget,
            "absent_hits": one.absent_hits,
            "compaction": one.compaction,
        }
        for setting, value in wanted.items():
            if str(is_there[setting]).lower() != str(value).lower():
                detail = (
                    f"{setting} is {is_there[setting] or 'none'}, declared is {value or 'none'}"
                )
                yield MaintenanceStep(action="drift", index=name, detail=detail)


def _alike(wanted: Sequence[DeclaredIndex]) -> list[list[DeclaredIndex]]:
    """Indexes of the same settings, which are built in one scan."""
    groups: dict[tuple[object, ...], list[DeclaredIndex]] = {}
    for one in wanted:
        groups.setdefault((one.budget, one.absent_hits, one.compaction), []).append(one)
    return list(groups.values())


def _live_paths(table: SparkTable, version: TableVersion) -> pa.ChunkedArray:
    if version.id is None:
        return pa.chunked_array([], pa.string())
    return table.reader.live_files(version).column("path")


def _uncovered(table: SparkTable, store: IndexStore, live: pa.ChunkedArray) -> int:
    covered = Upkeep(table=table.reader, store=store).covered(store.snapshot())
    return len(live) - int(pc.sum(pc.is_in(live, value_set=covered)).as_py() or 0)


def _size(state: Snapshot) -> int:
    catalogues = sum(entry.size for entry in state.catalogues)
    return catalogues + sum(entry.size for entry in state.segments)


def _text(error: Exception) -> str:
    if isinstance(error, LakesieveError):
        return str(error)
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"
