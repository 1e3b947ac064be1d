"""Indexes of one table brought up to date together: files that none covers are read once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from lakesieve.errors import CommitConflictError
from lakesieve.format import catalogue_id
from lakesieve.index import Refreshed
from lakesieve.index.definition import indexed_columns
from lakesieve.index.upkeep import ATTEMPTS, Upkeep
from lakesieve.spark.build.indexing import build_each
from lakesieve.spark.build.progress import Watch
from lakesieve.spark.build.source import Source, Target, indexable, read_for
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables.jobs import own_jobs
from lakesieve.store import FilesUncovered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lakesieve.index import BuildProgress
    from lakesieve.spark.tables import SparkTable
    from lakesieve.store import Changes, IndexStore, Snapshot
    from lakesieve.tables import Column, TableVersion


@dataclass(slots=True, kw_only=True)
class _Stale:
    """One index that is being refreshed, and what was done about it.

    Args:
        name: The index's name.
        upkeep: The index.
        versions: Ids of the versions some files of which it did not cover.
        files: How many those were.
        rows: Their rows.
        covered: How many files of the first version that has some it covered before.
        known: How many files of the version that is looked at it covered at the last look.
        error: What it failed with.
    """

    name: str
    upkeep: Upkeep
    versions: list[str] = field(default_factory=list)
    files: int = 0
    rows: int = 0
    covered: int = 0
    known: int = 0
    error: Exception | None = None

    def note(self, version: str, indexed: Source) -> None:
        """Count what was indexed of a version."""
        if version not in self.versions:
            self.versions.append(version)
        self.files += indexed.files.num_rows
        self.rows += indexed.rows


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pass:
    """One look at what one version has that an index does not cover.

    Args:
        stale: The index.
        base: Its state.
        columns: Its key columns in that version.
        uncovered: The files.
    """

    stale: _Stale
    base: Snapshot
    columns: tuple[Column, ...]
    uncovered: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refresh:
    """What all passes of one call share."""

    spark: SparkSession
    table: SparkTable
    dry_run: bool
    progress: Callable[[BuildProgress], None] | None


def refresh_each(
    spark: SparkSession,
    table: SparkTable,
    stores: Mapping[str, IndexStore],
    *,
    all_refs: bool = False,
    dry_run: bool = False,
    progress: Callable[[BuildProgress], None] | None = None,
) -> dict[str, Refreshed | Exception]:
    """Index, in each index, the data files that it does not cover yet.

    Indexes that lack the same files share the read of them.

    Args:
        spark: The session.
        table: The table.
        stores: Its indexes, by name.
        all_refs: Also the files of all branches and tags.
        dry_run: Only tell what would be indexed.
        progress: Called with each :class:`BuildProgress`, from another thread.

    Returns:
        By name, what was done or what it failed with.

    Raises:
        NotFoundError: The table is gone, or its name leads to another one.
        LakesieveError: The data files cannot be read as they should.
    """
    table.reader.reload()
    call = _Refresh(spark=spark, table=table, dry_run=dry_run, progress=progress)
    stale = []
    for name, store in stores.items():
        upkeep = Upkeep(table=table.reader, store=store)
        index = _Stale(name=name, upkeep=upkeep)
        _kept(index, upkeep.check_definition)
        stale.append(index)
    if any(index.error is None for index in stale):
        references = [None, *(table.reader.references() if all_refs else ())]
        versions = [table.reader.version(reference) for reference in references]
        for number, version in enumerate(versions):
            _refresh_version(call, version, stale, strict=number == 0)
    return {index.name: index.error or _outcome(call, index) for index in stale}


def _kept(index: _Stale, step: Callable[[], object]) -> None:
    """Do something of one index; keep what it fails with."""
    try:
        step()
    except Exception as error:  # noqa: BLE001 - it is the outcome of this index alone
        index.error = error


def _outcome(call: _Refresh, index: _Stale) -> Refreshed | Exception:
    try:
        compacted = not call.dry_run and index.upkeep.compact_if_due(
            merges_on_read=call.table.merges_on_read
        )
        return Refreshed(
            index=index.name,
            table=call.table.reader.name,
            versions=tuple(index.versions),
            files=index.files,
            rows=index.rows,
            covered=index.covered,
            commit=index.upkeep.store.snapshot().number,
            compacted=compacted,
            dry_run=call.dry_run,
        )
    except Exception as error:  # noqa: BLE001 - it is the outcome of this index alone
        return error


def _refresh_version(
    call: _Refresh, version: TableVersion, stale: Sequence[_Stale], *, strict: bool
) -> None:
    """Index what one version has that some index does not cover."""
    if version.id is None:
        return
    everything = call.table.reader.live_files(version)
    live = indexable(everything)
    left = [index for index in stale if index.error is None]
    for index in left:
        index.known = 0
    for attempt in range(ATTEMPTS):
        together: dict[str, list[_Pass]] = {}
        for index in left:
            look = _looked(index, call.table, version, live, strict=strict)
            if look is not None and look.uncovered.num_rows:
                key = catalogue_id(look.uncovered.column("path"))
                together.setdefault(key, []).append(look)
        left = []
        for passes in together.values():
            is_last = attempt == ATTEMPTS - 1
            left += _index_together(call, version, passes, everything.num_rows, is_last=is_last)
        if not left:
            break
    for index in stale:
        index.covered = index.covered or index.known


def _looked(
    index: _Stale, table: SparkTable, version: TableVersion, live: pa.Table, *, strict: bool
) -> _Pass | None:
    """What an index lacks of a version; nothing where its columns are not that version's."""
    try:
        base = index.upkeep.store.snapshot()
        columns = indexed_columns(base.definition, table.reader, version, strict=strict)
        covered = index.upkeep.covered(base)
    except Exception as error:  # noqa: BLE001 - it is the outcome of this index alone
        index.error = error
        return None
    if columns is None:
        return None
    uncovered = live.filter(pc.invert(pc.is_in(live.column("path"), value_set=covered)))
    index.known = live.num_rows - uncovered.num_rows
    return _Pass(stale=index, base=base, columns=columns, uncovered=uncovered)


def _index_together(
    call: _Refresh, version: TableVersion, passes: Sequence[_Pass], live: int, *, is_last: bool
) -> list[_Stale]:
    """Index the same files in several indexes; returns those that another writer indexed first."""
    by_place = {look.stale.upkeep.store.storage.location: look for look in passes}
    targets = [_target(look) for look in passes]
    files = passes[0].uncovered
    source = Source(
        table=call.table,
        version=version,
        columns=read_for(targets),
        files=files,
        is_partial=files.num_rows < live,
    )

    def commit(target: Target, changes: Changes, part: Source) -> None:
        index = by_place[target.storage.location]
        requires = [FilesUncovered(paths=part.files.column("path"))]
        index.stale.upkeep.store.commit(index.base, changes, requires)
        index.stale.note(str(version.id), part)

    rule = installed_rule(call.spark)
    names = ", ".join(look.stale.name for look in passes)
    what = f"lakesieve: refresh {call.table.reader.name}, index {names}"
    outcomes: Sequence[Exception | None]
    try:
        with own_jobs(call.spark, what):
            source = source.counted(rule)
        if call.dry_run:
            outcomes = [None] * len(passes)
        else:
            with Watch(call.spark, call.progress, what) as watch:
                outcomes = build_each(
                    call.spark,
                    rule,
                    source,
                    targets,
                    operation="refresh",
                    commit=commit,
                    watch=watch,
                )
                if len(outcomes) == 1 and outcomes[0] is not None:
                    # nothing is done, and the callback must not hear that it is
                    raise outcomes[0]
    except Exception as error:  # noqa: BLE001 - it is the outcome of these indexes alone
        outcomes = [error] * len(passes)
    left = []
    for look, outcome in zip(passes, outcomes, strict=True):
        if isinstance(outcome, CommitConflictError) and not is_last:
            # another refresh was faster; what it left is looked at anew
            left.append(look.stale)
        elif outcome is not None:
            look.stale.error = outcome
        elif call.dry_run:
            look.stale.note(str(version.id), source)
    return left


def _target(look: _Pass) -> Target:
    return Target(
        definition=look.base.definition,
        storage=look.stale.upkeep.store.storage,
        columns=look.columns,
    )
