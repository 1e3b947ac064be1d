"""Convert equality deletes to position delete files or deletion vectors."""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

from lakesieve.errors import CommitConflictError, ErrorKind, InvalidInputError, UnsupportedError
from lakesieve.spark.deletes.delete_writer import WRITTEN_SCHEMA, DeleteFolder, write_deletes
from lakesieve.spark.deletes.guide import narrow
from lakesieve.spark.deletes.read import deleted_positions
from lakesieve.spark.deletes.result import Conversion, ConversionProgress
from lakesieve.spark.deletes.version_deletes import (
    ALL,
    VersionDeletes,
    deletes_of_version,
    opened_iceberg,
)
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.iceberg.loading import file_io_of
from lakesieve.spark.tables.jobs import own_jobs
from lakesieve.spark.tables.workers import in_workers
from lakesieve.spark.versions.jar import own_class
from lakesieve.storage import open_storage

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Row, SparkSession

    from lakesieve.index import Reason
    from lakesieve.spark.tables.iceberg.table import IcebergTable
    from lakesieve.storage import Storage

_VECTORS_SINCE = 3
_COMMITTED = ("file", "data_file", "offset", "length", "positions", "size", "first", "last")


def convert(
    table: str,
    *,
    spark: SparkSession,
    branch: str | None = None,
    location: str | None = None,
    dry_run: bool = False,
    partial_progress: bool = False,
    attempts: int = 5,
    progress: Callable[[ConversionProgress], None] | None = None,
) -> Conversion:
    """Replace a table's equality deletes by position delete files (v2) or deletion vectors (v3).

    The table's rows stay as they are. Nothing is visible before the commit. The commit is refused
    if another writer removed a data file or a delete file, or gave a data file a deletion vector.
    Then the conversion starts again from fresh metadata.

    Args:
        table: ``catalog.database.table`` or ``iceberg:PATH``.
        spark: A classic (not Connect) session.
        branch: The branch to convert; ``None`` for that of the current version.
        location: A further root to search for indexes. With an index on equality columns, only data
            files that may hold a deleted key are searched.
        dry_run: Change nothing. Only plan, without indexes, and return what would be done.
        partial_progress: Commit each part of the table as soon as it is converted. A part, such as
            a partition, shares no delete file with the rest. A later call continues.
        attempts: How often a part is tried.
        progress: Called with each :class:`ConversionProgress`.

    Raises:
        NotFoundError: The table or the branch does not exist.
        InvalidInputError: The table's name selects another branch.
        UnsupportedError: Encrypted, not Iceberg's, out of Python's reach, or ``spark.wap.id`` set.
        CommitConflictError: Others were faster each time, or a commit's outcome is unknown.

    Examples:
        >>> ls.deletes.convert("lake.shop.orders", spark=spark).commits
        0
    """
    locations = () if location is None else (location,)
    run = _Run(table=table, spark=spark, branch=branch, locations=locations, progress=progress)
    with own_jobs(spark, f"lakesieve: convert the equality deletes of {table}"):
        deletes = run.find()
        if dry_run:
            return run.outlook(deletes, partial_progress=partial_progress)
        failures = 0
        run.narrow(deletes)
        while int(deletes.summary["pairs"]) or int(deletes.summary["dangling"]):
            refused = run.convert(deletes, partial_progress=partial_progress)
            if refused is None:
                break
            failures += 1
            if failures >= attempts:
                raise CommitConflictError(
                    f"Another writer changed {table} during each of {attempts} attempts: {refused}",
                    kind=ErrorKind.CONFLICT,
                    hint="The conversion changed nothing more. Try again later, or with "
                    "partial_progress.",
                )
            run.conflicts += 1
            deletes = run.find()
            run.narrow(deletes)
        run.tell("done", 1, 1)
        return run.done(deletes)


def _target(table: IcebergTable, branch: str | None) -> str | None:
    """Return the branch to commit to, or ``None`` for ``main``.

    Raises:
        InvalidInputError: The table's name selects another branch.
        UnsupportedError: The session's commits would only be staged.
    """
    current = table.write_branch
    if branch is not None and table.branches.selected not in {None, branch}:
        raise InvalidInputError(
            f"{table.name} names a branch, but branch={branch!r} names another.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Name the branch only once.",
        )
    return current if branch is None else branch


@dataclass(slots=True, kw_only=True)
class _Run:
    """One conversion: its options, and the work done so far."""

    table: str
    spark: SparkSession
    branch: str | None
    locations: tuple[str, ...]
    progress: Callable[[ConversionProgress], None] | None
    id: str = field(default_factory=lambda: uuid.uuid4().hex)
    start: float = field(default_factory=time.monotonic)
    removed_files: int = 0
    removed_records: int = 0
    scanned_files: int = 0
    scanned_rows: int = 0
    marked: list[Row] = field(default_factory=list)
    reasons: list[Reason] = field(default_factory=list)
    commits: int = 0
    conflicts: int = 0
    # the branch to commit to; a WAP branch that does not exist yet is read from main
    target: str | None = field(init=False)

    def __post_init__(self) -> None:
        self.target = _target(opened_iceberg(self.spark, self.table), self.branch)

    def find(self) -> VersionDeletes:
        """Find the deletes to convert."""
        self.tell("plan", 0, 1)
        deletes = deletes_of_version(self.spark, self.table, self.branch)
        encryption = str(deletes.table.encryption().getClass().getSimpleName())
        if encryption != "PlaintextEncryptionManager":
            raise UnsupportedError(
                f"The table {self.table} is encrypted.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="lakesieve cannot write delete files for it. Use deletes.read instead.",
            )
        return deletes

    def narrow(self, deletes: VersionDeletes) -> None:
        """Leave out data files that contain no deleted key according to indexes."""
        if deletes.reached_files:
            self.reasons = narrow(self.spark, deletes, self.locations)

    def convert(self, deletes: VersionDeletes, *, partial_progress: bool) -> str | None:
        """Convert deletes. Return why a commit was refused, or ``None``."""
        units = list(range(deletes.units)) if partial_progress and deletes.units else [ALL]
        for number, unit in enumerate(units):
            self.tell("write", number, len(units))
            # delete files that reach nothing are removed by the first commit
            refused = self._unit(deletes, unit, dangling=number == 0)
            if refused is not None:
                return refused
        return None

    def _unit(self, deletes: VersionDeletes, unit: int, *, dangling: bool) -> str | None:
        folder = f"lakesieve-{self.id}-{uuid.uuid4().hex[:8]}"
        location = f"{_data_folder(deletes.table)}/{folder}"
        options = storage_options(self.spark, partial(file_io_of, self.spark, deletes.table))
        storage = open_storage(location, options(location), renew=options.renewed)
        # once the commit is tried, its files may be in use, unless the commit is refused
        keep: set[str] = set()
        try:
            rows = self._write(deletes, unit, storage, location)
            self.tell("commit", 0, 1)
            keep = {row.file.rpartition("/")[2] for row in rows}
            outcome, why = self._commit(deletes, unit, rows, dangling=dangling)
            if outcome == "rejected":
                keep = set()
                return why
        finally:
            # this also removes files of failed and repeated tasks
            _delete_others(storage, keep)
        if outcome == "unknown":
            raise CommitConflictError(
                f"It is unknown whether the commit to {self.table} succeeded: {why}",
                kind=ErrorKind.COMMIT_UNKNOWN,
                hint="Look at the table's history, or convert again. If the commit succeeded, that "
                "does nothing.",
            )
        self._count(deletes, unit, rows, dangling=dangling)
        return None

    def _write(
        self, deletes: VersionDeletes, unit: int, storage: Storage, location: str
    ) -> list[Row]:
        _, _, files, _ = deletes.extent(unit, dangling=False)
        if not files:
            return []
        vectors = deletes.format_version >= _VECTORS_SINCE
        folder = DeleteFolder(storage=storage, location=location, vectors=vectors)
        positions = deleted_positions(deletes, unit, with_old=vectors)
        return in_workers(positions, write_deletes(folder), WRITTEN_SCHEMA).collect()

    def _commit(
        self, deletes: VersionDeletes, unit: int, rows: list[Row], *, dangling: bool
    ) -> tuple[str, str]:
        """Return the status and, unless the commit succeeded, the reason."""
        written = json.dumps([{name: row[name] for name in _COMMITTED} for row in rows])
        mark = f"{self.id}-{uuid.uuid4().hex[:8]}"
        commit = own_class(self.spark, "deletes.DeleteCommit")(deletes.java).commit
        outcome = commit(deletes.table, self.target, unit, dangling, written, mark)
        return str(outcome.status()), str(outcome.reason())

    def _count(
        self, deletes: VersionDeletes, unit: int, rows: list[Row], *, dangling: bool
    ) -> None:
        removed, records, files, scanned = deletes.extent(unit, dangling=dangling)
        self.removed_files += removed
        self.removed_records += records
        self.scanned_files += files
        self.scanned_rows += scanned
        self.marked += rows
        self.commits += 1

    def tell(self, phase: str, done: int, total: int) -> None:
        if self.progress is None:
            return
        self.progress(
            ConversionProgress(
                phase=phase,
                units_done=done,
                units_total=total,
                positions=sum(row.new for row in self.marked),
                seconds=time.monotonic() - self.start,
            )
        )

    def outlook(self, deletes: VersionDeletes, *, partial_progress: bool) -> Conversion:
        """Return what would be done, before any work."""
        removed, records, files, rows = deletes.extent(ALL, dangling=True)
        self.removed_files, self.removed_records = removed, records
        self.scanned_files, self.scanned_rows = files, rows
        if removed:
            self.commits = max(1, deletes.units) if partial_progress else 1
        return self.done(deletes, dry_run=True)

    def done(self, deletes: VersionDeletes, *, dry_run: bool = False) -> Conversion:
        sizes = {row.file: row.size for row in self.marked}
        return Conversion(
            table=self.table,
            branch=self.target,
            dry_run=dry_run,
            format_version=deletes.format_version,
            removed_files=self.removed_files,
            removed_records=self.removed_records,
            scanned_files=self.scanned_files,
            scanned_rows=self.scanned_rows,
            positions=sum(row.new for row in self.marked),
            marked_files=len({row.data_file for row in self.marked}),
            written_files=len(sizes),
            written_bytes=sum(sizes.values()),
            commits=self.commits,
            conflicts=self.conflicts,
            reasons=tuple(self.reasons),
            seconds=time.monotonic() - self.start,
        )


def _data_folder(table: Any) -> str:
    folder = table.properties().get("write.data.path")
    return str(folder).rstrip("/") if folder else str(table.location()).rstrip("/") + "/data"


def _delete_others(storage: Storage, keep: set[str]) -> None:
    for info in storage.objects(""):
        if info.path not in keep:
            storage.delete(info.path)
