"""Result models about a table's equality deletes. ``report`` renders them."""

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
        columns: The columns. Dots separate fields of structs.
        everywhere: True if they apply to every partition, because their spec has no partitioning.
        files: Number of delete files.
        records: Their rows.
        keys: Distinct keys within each partition; ``None`` if they were not counted.

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
        equality_records: Rows of the equality delete files.
        equality_bytes: Bytes of the equality delete files.
        dangling_files: Equality delete files that no longer reach any data file.
        keys: Distinct keys, summed over field sets; ``None`` if they were not counted.
        pairs: (data file, equality delete file) pairs that a reader must bring together.
        position_files: Position delete files.
        vectors: Deletion vectors.
        task_records: Most delete records that one task of Iceberg's own reader holds in memory.
        task_bytes: Estimated memory for these records.
        executor_tasks: Tasks that an executor of this session runs at once.
        executor_bytes: Heap of an executor of this session.
        field_sets: The equality delete files, by the columns that they compare.
        verdict: A summary in one line.

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
    """The result of a conversion, or of its dry run.

    Args:
        table: The table's name.
        branch: The branch, or ``None`` for ``main``.
        dry_run: True if nothing was done. Then numbers that only the work could find are 0.
        format_version: 2 for position delete files, 3 for deletion vectors.
        removed_files: Removed equality delete files.
        removed_records: Rows of the removed files.
        scanned_files: Data files that were searched for deleted rows.
        scanned_rows: Rows of the searched files.
        positions: Rows that were marked by position.
        marked_files: Data files with such rows.
        written_files: Written delete files.
        written_bytes: Bytes of the written files.
        commits: Number of commits that were made, or are needed.
        conflicts: Commits that were refused and made again from fresh metadata.
        seconds: Duration.
        reasons: What indexes on the equality columns did, as coded reasons.

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
    """The progress of a conversion.

    Args:
        phase: The current phase: ``plan``, ``write``, ``commit``, ``done``.
        units_done: Number of committed parts.
        units_total: Number of all parts.
        positions: Rows marked by position so far.
        seconds: Seconds since the conversion began.

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
