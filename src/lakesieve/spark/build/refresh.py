"""Refresh several indexes of one table together, so that each new file is read only once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pyarrow.compute as pc

from lakesieve.errors import CommitConflictError
from lakesieve.format import catalogue_id
from lakesieve.index import RefreshResult
from lakesieve.index.definition import indexed_columns
from lakesieve.index.upkeep import ATTEMPTS, Upkeep
from lakesieve.spark.build.indexing import add_files
from lakesieve.spark.build.progress import Onward
from lakesieve.spark.build.source import IndexBuild, Source, distinct_columns, indexable
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.tables.jobs import own_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lakesieve.index import BuildProgress
    from lakesieve.spark.tables import SparkTable
    from lakesieve.store import IndexStore
    from lakesieve.tables import TableVersion


@dataclass(slots=True, kw_only=True, eq=False)
class _StaleIndex:
    """One index that is being refreshed, and the result so far.

    Args:
        name: The index's name.
        upkeep: The index.
        versions: Ids of the versions with newly indexed files.
        files: Number of newly indexed files.
        rows: Rows of these data files.
        covered: Files of the first version with new files that the index covered before.
        known: Files of the present version that the index covered when they were last compared.
        error: The error, if the refresh failed.
    """

    name: str
    upkeep: Upkeep
    versions: list[str] = field(default_factory=list)
    files: int = 0
    rows: int = 0
    covered: int = 0
    known: int = 0
    error: Exception | None = None

    def check(self) -> None:
        """Check that the index belongs to this table."""
        try:
            self.upkeep.check_definition()
        except Exception as error:  # noqa: BLE001 - it is the outcome of this index alone
            self.error = error

    def look(
        self, table: SparkTable, version: TableVersion, live: pa.Table, *, strict: bool
    ) -> _UncoveredFiles | None:
        """Find the live files that the index does not cover.

        The result is ``None`` if the version does not have the index's columns.
        """
        try:
            base = self.upkeep.store.snapshot()
            columns = indexed_columns(base.definition, table.reader, version, strict=strict)
            covered = self.upkeep.covered(base)
        except Exception as error:  # noqa: BLE001 - it is the outcome of this index alone
            self.error = error
            return None
        if columns is None:
            return None
        files = live.filter(pc.invert(pc.is_in(live.column("path"), value_set=covered)))
        self.known = live.num_rows - files.num_rows
        build = IndexBuild(
            definition=base.definition, store=self.upkeep.store, columns=columns, base=base
        )
        return _UncoveredFiles(index=self, build=build, files=files)

    def note(self, version: str, build: IndexBuild) -> None:
        """Add what was indexed of a version to the result."""
        if build.files and version not in self.versions:
            self.versions.append(version)
        self.files += build.files
        self.rows += build.rows
        self.error = build.error


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _UncoveredFiles:
    """The data files of a version that an index does not cover, and the build that adds them."""

    index: _StaleIndex
    build: IndexBuild
    files: pa.Table


@dataclass(frozen=True, slots=True, kw_only=True)
class _Refresh:
    """The arguments of one call of :func:`refresh_each`."""

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
) -> dict[str, RefreshResult | Exception]:
    """Add to each index the data files that it does not cover yet.

    Indexes that lack the same files share one read of them.

    Returns:
        By name, the result or the error of each index.
    """
    table.reader.reload()
    # groups of files are read one after another
    heard = progress and Onward(progress)
    call = _Refresh(spark=spark, table=table, dry_run=dry_run, progress=heard)
    stale = [
        _StaleIndex(name=name, upkeep=Upkeep(table=table.reader, store=store))
        for name, store in stores.items()
    ]
    for index in stale:
        index.check()
    if any(index.error is None for index in stale):
        references = [None, *(table.reader.references() if all_refs else ())]
        versions = [table.reader.version(reference) for reference in references]
        for number, version in enumerate(versions):
            _refresh_version(call, version, stale, strict=number == 0)
    return {index.name: index.error or _outcome(call, index) for index in stale}


def _outcome(call: _Refresh, index: _StaleIndex) -> RefreshResult | Exception:
    try:
        compacted = not call.dry_run and index.upkeep.compact_if_due(
            merges_on_read=call.table.merges_on_read
        )
        return RefreshResult(
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
    call: _Refresh, version: TableVersion, stale: Sequence[_StaleIndex], *, strict: bool
) -> None:
    """Index the files of one version that some index does not cover."""
    if version.id is None:
        return
    everything = call.table.reader.live_files(version)
    live = indexable(everything)
    for index in stale:
        index.known = 0
    remaining = [index for index in stale if index.error is None]
    for _ in range(ATTEMPTS):
        groups: dict[str, list[_UncoveredFiles]] = {}
        for index in remaining:
            index.error = None
            lacking = index.look(call.table, version, live, strict=strict)
            if lacking is not None and lacking.files.num_rows:
                key = catalogue_id(lacking.files.column("path"))
                groups.setdefault(key, []).append(lacking)
        for group in groups.values():
            _index_together(call, version, group, everything.num_rows)
        # another refresh was faster, so look again at what is still missing
        remaining = [index for index in remaining if isinstance(index.error, CommitConflictError)]
        if not remaining:
            break
    for index in stale:
        index.covered = index.covered or index.known


def _index_together(
    call: _Refresh, version: TableVersion, group: Sequence[_UncoveredFiles], live: int
) -> None:
    """Index the same data files in several indexes."""
    builds = [lacking.build for lacking in group]
    files = group[0].files
    source = Source(
        table=call.table,
        version=version,
        columns=distinct_columns(build.columns for build in builds),
        files=files,
        is_partial=files.num_rows < live,
    )
    names = ", ".join(lacking.index.name for lacking in group)
    description = f"lakesieve: refresh {call.table.reader.name}, index {names}"
    if call.dry_run:
        _count(call, source, builds, description)
    else:
        add_files(
            call.spark,
            source,
            builds,
            operation="refresh",
            description=description,
            progress=call.progress,
        )
    for lacking in group:
        lacking.index.note(str(version.id), lacking.build)


def _count(call: _Refresh, source: Source, builds: Sequence[IndexBuild], description: str) -> None:
    """Count the files and rows that would be indexed."""
    try:
        with own_jobs(call.spark, description):
            rows = source.counted(installed_rule(call.spark)).rows
    except Exception as error:  # noqa: BLE001 - it is the outcome of these indexes
        for build in builds:
            build.error = error
        return
    for build in builds:
        build.files, build.rows = source.files.num_rows, rows
