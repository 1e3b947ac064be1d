"""The result models of the index layer, rendered by ``report``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from lakesieve.index.shown import Shown

if TYPE_CHECKING:
    from lakesieve.format import Commit
    from lakesieve.index.reasons import Reason
    from lakesieve.store import Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMatches(Shown):
    """The data files of one table version that can hold a match.

    Args:
        paths: Data files to read, as the table format names them.
        total: Live data files of the version.
        left_by_format: Data files that the table format's own statistics leave, before any index
            is asked: what an engine's scan reads without lakesieve.
        uncovered: How many of ``paths`` no index has seen; 0 where no index takes part.
        reasons: Coded reasons.
        version: The version that is read, or ``None`` for a table without data.
        table: The table's name.
        predicate: The predicate as given.
        indexes: Names of the indexes that were used.
        condition: What was looked up of the predicate, as SQL; ``TRUE`` if nothing was.
        row_ranges: For each of ``paths`` the rows that can match, as pairs of the first row in the
            file and the row behind the last, or ``None`` for all rows; ``None`` without an index
            of row blocks.
        rows_total: Rows of ``paths``; ``None`` here and below where ``row_ranges`` is ``None``, or
            where the rows of a data file are not known.
        rows_read: How many of these rows can match.

    Examples:
        >>> matches = orders.find_files("customer = 4711")
        >>> len(matches.paths), matches.left_by_format, matches.total
        (1, 10, 10)
    """

    paths: list[str]
    total: int
    left_by_format: int
    uncovered: int
    reasons: tuple[Reason, ...]
    version: str | None
    table: str
    predicate: str
    indexes: tuple[str, ...]
    condition: str = ""
    row_ranges: tuple[tuple[tuple[int, int], ...] | None, ...] | None = None
    rows_total: int | None = None
    rows_read: int | None = None

    def __str__(self) -> str:
        """Return the answer in a few lines for a person."""
        used = ", ".join(self.indexes) or "none"
        lines = [
            f"{self.table} at version {self.version}: {self.predicate}",
            f"read {len(self.paths)} of {self.total} data files (index used: {used})",
            *([] if self.rows_read is None else [self._rows()]),
            f"read without an index: {self.left_by_format}",
        ]
        for reason in self.reasons:
            lines.append(f"  {reason.code}: {reason.sentence}")
            if step := reason.next_step(self.table):
                lines.append(f"    next: {step}")
        return "\n".join(lines)

    def _rows(self) -> str:
        return f"read {self.rows_read:,} of {self.rows_total:,} rows of these files"


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexInfo(Shown):
    """What an index is and what it costs.

    Args:
        name: Its name.
        table: The table, as it was called.
        table_format: ``iceberg``, ``delta``, ``hudi`` or ``parquet``.
        columns: The key columns, in order; fields of structs with dots.
        types: Their key types.
        location: Its root.
        commit: Number of its newest commit.
        created_at: When it was created, ISO 8601 in UTC.
        files: Data files covered.
        rows: Rows of those files.
        keys: Distinct keys, summed over segments.
        pairs: Distinct pairs of a key and a data file, or a row block.
        blocks: Blocks of its segments.
        segments: Segments.
        bytes: Bytes of its segments and file catalogues.
        bits_per_row: ``bytes`` in bits over ``rows``; 0 for no rows.
        table_version: The table version that was indexed last.
        budget: What it may cost or how wrong it may be; none for an exact index.
        compaction: How many deltas there may be before they are merged, or ``auto``.
        rows_per_block: Rows of a block; ``None`` for an index of whole data files.
        live_files: Data files of the table's current version; ``None`` here and below where
            freshness was not asked for.
        covered_files: How many of the live data files the index covers.
        committed_at: When the newest commit was made, ISO 8601 in UTC.

    Examples:
        >>> info = index.info()
        >>> info.columns, info.files, info.rows
        (('customer',), 10, 10000)
    """

    name: str
    table: str
    table_format: str
    columns: tuple[str, ...]
    types: tuple[str, ...]
    location: str
    commit: int
    created_at: str
    files: int
    rows: int
    keys: int
    pairs: int
    blocks: int
    segments: int
    bytes: int
    bits_per_row: float
    table_version: str
    budget: str
    compaction: str
    rows_per_block: int | None = None
    live_files: int | None = None
    covered_files: int | None = None
    committed_at: str | None = None

    @classmethod
    def of(cls, snapshot: Snapshot, table: str, location: str) -> Self:
        """Sum up one state of an index."""
        definition = snapshot.definition
        totals: dict[str, Any] = dict(snapshot.totals())
        rows = sum(entry.records for entry in snapshot.catalogues)
        return cls(
            name=definition.name,
            table=table,
            table_format=definition.table_format,
            columns=definition.key_names,
            types=definition.types,
            location=location,
            commit=snapshot.number,
            created_at=definition.created_at,
            rows=rows,
            keys=sum(entry.keys for entry in snapshot.segments),
            pairs=sum(entry.pairs for entry in snapshot.segments),
            bits_per_row=8 * totals["bytes"] / rows if rows else 0.0,
            table_version=snapshot.version_id,
            budget=definition.budget,
            compaction=definition.compaction,
            rows_per_block=definition.rows_per_block or None,
            **totals,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo(Shown):
    """One commit of an index's history, with the totals after it.

    Args:
        number: The commit's number.
        parent: The commit before it; ``None`` for the first, and for one made by a repair.
        operation: What made it, such as ``create`` or ``compact``.
        created_at: When, ISO 8601 in UTC.
        table_version: The table version that was indexed last.
        files: Data files covered.
        segments: Segments.
        blocks: Blocks in those.
        bytes: Bytes of its segments and file catalogues.

    Examples:
        >>> index.history()[0].files
        10
    """

    number: int
    parent: int | None
    operation: str
    created_at: str
    table_version: str
    files: int
    segments: int
    blocks: int
    bytes: int

    @classmethod
    def of(cls, commit: Commit, after: Snapshot) -> Self:
        """Sum up a commit and the state after it."""
        return cls(
            number=commit.number,
            parent=commit.parent,
            operation=commit.operation,
            created_at=commit.created_at,
            table_version=after.version_id,
            **after.totals(),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TablePruning(Shown):
    """What the latest query did to one scan of a table.

    Args:
        table: The table's name in the plan.
        files_total: Data files after the format's own skipping.
        files_read: Data files left to open.
        uncovered: How many of those no index has seen.
        indexes: Names of the indexes that were used.
        reasons: Coded reasons.
        predicate: The part of the filter that was understood.
        rows_total: Rows of the data files of which only some rows are read; ``None`` here and below
            if there are none, or if their rows are not known.
        rows_read: How many of these rows are read, in row blocks.

    Examples:
        >>> orders.scan_polars().filter(pl.col("customer") == 4711).collect().height
        1
        >>> scan = ls.last_pruning()[0]
        >>> scan.files_total, scan.files_read, scan.indexes
        (10, 1, ('customer',))
    """

    table: str
    files_total: int
    files_read: int
    uncovered: int
    indexes: tuple[str, ...]
    reasons: tuple[Reason, ...]
    predicate: str
    rows_total: int | None = None
    rows_read: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildProgress:
    """How far a build is.

    Args:
        phase: What is being done now.
        rows_done: Rows that have been read.
        rows_total: Rows to read.
        files_done: Data files that have been read.
        files_total: Data files to read.
        seconds: Since the build began.

    Examples:
        >>> seen = []
        >>> index = ls.create_index("lake.shop.orders", "tenant", spark=spark, progress=seen.append)
        >>> seen[-1].files_done
        10
    """

    phase: str
    rows_done: int
    rows_total: int
    files_done: int
    files_total: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshResult(Shown):
    """The result of a refresh, or of its dry run.

    Args:
        index: The index's name.
        table: The table's name.
        versions: Table versions in which there was something to index.
        files: Data files that were not covered before.
        rows: Rows of these files.
        covered: Data files that were covered already, in the current version.
        commit: The index's last commit afterwards.
        compacted: Whether deltas were merged.
        dry_run: True if nothing was done.

    Examples:
        >>> ls.refresh_indexes("lake.shop.orders", ["customer"], spark=spark)[0].covered
        10
    """

    index: str
    table: str
    versions: tuple[str, ...]
    files: int
    rows: int
    covered: int
    commit: int
    compacted: bool
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RowChange(Shown):
    """What an upsert or a delete by key did, or would do.

    Args:
        table: The table's name.
        operation: ``upsert`` or ``delete``.
        on: The key columns.
        keys: Keys that were given, each once.
        inserted: Rows inserted; ``None`` here and below where the format does not count them.
        updated: Rows updated.
        deleted: Rows deleted.
        files_read: Data files that were opened to find the keys, the most in one scan; of a dry
            run those that hold some.
        files_added: Data and delete files written.
        files_removed: Data and delete files that are not in the new version.
        version: The new version of the table; ``None`` if none was made.
        known: The transaction had been committed before, and nothing was done.
        refreshed: What was done to each index after the commit.
        reasons: Coded reasons why an index was not refreshed; the commit stands.
        seconds: How long it took.
        dry_run: True if nothing was done.

    Examples:
        >>> orders = ls.table("lake.shop.orders", spark=spark)
        >>> keys = spark.sql("SELECT 4711L AS customer")
        >>> orders.delete(keys, on="customer", dry_run=True).deleted
        1
    """

    table: str
    operation: str
    on: tuple[str, ...]
    keys: int
    inserted: int | None
    updated: int | None
    deleted: int | None
    files_read: int | None
    files_added: int | None
    files_removed: int | None
    version: str | None
    known: bool
    refreshed: tuple[RefreshResult, ...]
    reasons: tuple[Reason, ...]
    seconds: float
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionResult(Shown):
    """What a compaction did, or would do.

    Args:
        index: The index's name.
        table: The table's name.
        files_before: Data files covered before; more than one time where deltas overlapped.
        files: Data files covered afterwards; those that no kept table version holds are dropped.
        segments_before: Segments before.
        segments: Segments afterwards; unknown if nothing was done.
        bytes_before: Bytes before.
        bytes: Bytes afterwards; unknown if nothing was done.
        commit: The index's last commit afterwards.
        dry_run: True if nothing was done.

    Examples:
        >>> index.compact(dry_run=True).files
        10
    """

    index: str
    table: str
    files_before: int
    files: int
    segments_before: int
    segments: int | None
    bytes_before: int
    bytes: int | None
    commit: int
    dry_run: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneResult(Shown):
    """A clone of an index.

    Args:
        index: The clone's name.
        table: The table it is for.
        origin: The table of the index that it shares segments with.
        location: The clone's root.
        files: Data files of that table's current version.
        shared: How many of those the clone covers.

    Examples:
        >>> ls.clone_table("lake.shop.orders", "lake.shop.copy", spark=spark)[0].shared
        10
    """

    index: str
    table: str
    origin: str
    location: str
    files: int
    shared: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedRows:
    """The result of reading data files again and looking up their keys.

    Args:
        index: The index's name.
        table: The table's name.
        files: Data files that were read.
        rows: Rows of these files.
        wrong: Data files with a row that the index does not return for a key of the row. Normally
            empty.

    Examples:
        >>> ls.open_index("lake.shop.orders", "customer", spark=spark).verify_rows(files=2).rows
        2000
    """

    index: str
    table: str
    files: int
    rows: int
    wrong: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TradeOffInfo(Shown):
    """What an index costs at one budget.

    Args:
        strategy: How blocks are made: ``exact``, ``neighbours``, ``even`` or ``grid``.
        bits_per_row: Bits a row of the table.
        false_files: Data files, or row blocks, that a point query of a value that is there reads
            although they lack it, on average.
        blocks: Blocks of the range of keys that was tried.

    Examples:
        >>> ls.trade_offs("lake.shop.orders", "customer", spark=spark)[-1].false_files
        0.0
    """

    strategy: str
    bits_per_row: float
    false_files: float
    blocks: int
