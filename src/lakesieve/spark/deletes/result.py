"""The result models: what there is to say of a table's deletes, rendered by ``report``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.index.shown import Shown

if TYPE_CHECKING:
    from lakesieve.index.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldSet:
    """The equality delete files that compare the same columns.

    Args:
        columns: The columns; dots lead into structs.
        everywhere: They apply to every partition, because their spec has none.
        files: Delete files.
        records: Rows of them.
        keys: Distinct keys, within each partition; ``None`` if they were not counted.

    Examples:
        >>> ls.deletes.status("lake.shop.orders", spark=spark).field_sets
        ()
    """

    columns: tuple[str, ...]
    everywhere: bool
    files: int
    records: int
    keys: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteStatus(Shown):
    """What the deletes of one table version cost its readers.

    Args:
        table: The table's name.
        version: Snapshot id, or ``None`` for a table without data.
        format_version: Iceberg's format version of the table.
        data_files: Live data files.
        reached_files: Data files that an equality delete may reach.
        equality_files: Equality delete files.
        equality_records: Rows of them.
        equality_bytes: Bytes of them.
        dangling_files: Those that reach no data file any more.
        keys: Distinct keys, summed over field sets; ``None`` if they were not counted.
        pairs: (data file, equality delete file) pairs that a reader must bring together.
        position_files: Position delete files.
        vectors: Deletion vectors.
        task_records: Most delete records that one task of the stock reader holds in memory.
        task_bytes: Estimate of the memory for them.
        executor_tasks: Tasks that an executor of this session runs at once.
        executor_bytes: Heap of an executor of this session.
        field_sets: The equality delete files by the columns they compare.
        verdict: The same in one line.

    Examples:
        >>> ls.deletes.status("lake.shop.orders", spark=spark).equality_files
        0
    """

    table: str
    version: str | None
    format_version: int
    data_files: int
    reached_files: int
    equality_files: int
    equality_records: int
    equality_bytes: int
    dangling_files: int
    keys: int | None
    pairs: int
    position_files: int
    vectors: int
    task_records: int
    task_bytes: int
    executor_tasks: int
    executor_bytes: int
    field_sets: tuple[FieldSet, ...]
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion(Shown):
    """What a conversion did, or would do.

    Args:
        table: The table's name.
        branch: The branch, or ``None`` for the main one.
        dry_run: Nothing was done; what the work would find is 0.
        format_version: 2 for position delete files, 3 for deletion vectors.
        removed_files: Equality delete files that are gone.
        removed_records: Rows of them.
        scanned_files: Data files that were searched for deleted rows.
        scanned_rows: Rows of them.
        positions: Rows that were marked by position.
        marked_files: Data files that have a row so marked.
        written_files: Delete files written.
        written_bytes: Bytes of them.
        commits: Commits made, or needed.
        conflicts: Commits that were refused and done again from fresh metadata.
        seconds: How long it took.
        reasons: What indexes on the equality columns did, coded.

    Examples:
        >>> ls.deletes.convert("lake.shop.orders", spark=spark, dry_run=True).removed_files
        0
    """

    table: str
    branch: str | None
    dry_run: bool
    format_version: int
    removed_files: int
    removed_records: int
    scanned_files: int
    scanned_rows: int
    positions: int
    marked_files: int
    written_files: int
    written_bytes: int
    commits: int
    conflicts: int
    seconds: float
    reasons: tuple[Reason, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversionProgress:
    """How far a conversion is.

    Args:
        phase: What is being done now: ``plan``, ``write``, ``commit``, ``done``.
        units_done: Parts that are committed.
        units_total: Parts in all.
        positions: Rows marked by position so far.
        seconds: Since the conversion began.

    Examples:
        >>> seen = []
        >>> done = ls.deletes.convert("lake.shop.orders", spark=spark, progress=seen.append)
        >>> seen[-1].phase
        'done'
    """

    phase: str
    units_done: int
    units_total: int
    positions: int
    seconds: float
