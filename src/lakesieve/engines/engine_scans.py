"""What engines share: the files of a predicate by a table's indexes, and what scans came to."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.engines.wanted_rows import FilesToRead, rows_of_each_file
from lakesieve.errors import LakesieveError
from lakesieve.index import (
    IndexRegistry,
    JudgedFiles,
    KeepTree,
    Reason,
    ReasonCode,
    ShownList,
    TablePruning,
    plan,
    uncovered_detail,
)
from lakesieve.storage import Background, normalized
from lakesieve.tables.opening import options_by_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa

    from lakesieve.engines.wanted_rows import WantedRows
    from lakesieve.predicate import Expr
    from lakesieve.tables import Column, TableReader

PLANNING_SECONDS = 2.0
"""How long a scan waits for the storage of indexes before it reads every file."""

_lock = threading.Lock()
_latest: list[EngineScan] = []


@dataclass(slots=True, eq=False, kw_only=True)
class EngineScan:
    """One scan of a table: which files it must read, counted as they are judged."""

    table: str
    reasons: tuple[Reason, ...]  # coded reasons
    plan: KeepTree | None = None  # what the indexes say, if they can leave files out
    predicate: str = ""  # the part of the filter that was understood
    total: int = 0
    read: int = 0
    uncovered: int = 0
    rows_total: int | None = None
    rows_read: int | None = None
    whole: dict[str, int] = field(default_factory=dict)  # files read whole, by the reason

    def files_to_read(self, paths: pa.Array | pa.ChunkedArray) -> FilesToRead:
        """Judge data files: which must be read, and which of their rows."""
        numbers = [] if self.plan is None else [at.numbers(paths) for at in self.plan.indexes]
        return self.numbered_files_to_read(numbers, len(paths))

    def numbered_files_to_read(self, numbers: Sequence[np.ndarray], count: int) -> FilesToRead:
        """Judge data files by the numbers that each index of the plan has for them, or -1."""
        judged = self._judged(numbers, count)
        if judged.rows is not None:
            known = judged.keep & judged.covered
            wanted = judged.rows.lengths(judged.records)[known[judged.rows.files]]
            self.rows_total = (self.rows_total or 0) + int(judged.records[known].sum())
            self.rows_read = (self.rows_read or 0) + int(wanted.sum())
        return FilesToRead(keep=judged.keep, rows=rows_of_each_file(judged.rows))

    def keep_numbered(self, numbers: Sequence[np.ndarray], count: int) -> np.ndarray:
        """Return which data files must be read by an engine that reads whole files."""
        return self._judged(numbers, count).keep

    def _judged(self, numbers: Sequence[np.ndarray], count: int) -> JudgedFiles:
        """Judge data files, and count them."""
        if self.plan is None:
            every = np.ones(count, bool)
            judged = JudgedFiles(keep=every, covered=every)
        else:
            judged = self.plan.of_numbers(numbers, count)
        self.total += count
        self.read += int(judged.keep.sum())
        self.uncovered += count - int(judged.covered.sum())
        return judged

    def read_whole(self, wanted: WantedRows, count: int, why: str) -> None:
        """Count a data file of ``count`` rows that is read whole although not all are wanted."""
        self.whole[why] = self.whole.get(why, 0) + 1
        if self.rows_read is not None:
            self.rows_read += count - wanted.within(0, count).count()

    def result(self) -> TablePruning:
        """Return what was done, as users see it."""
        reasons = self.reasons
        if self.uncovered and self.plan is not None:
            detail = uncovered_detail(self.uncovered)
            reasons = (*reasons, Reason(code=ReasonCode.UNCOVERED_FILES, detail=detail))
        for why, files in self.whole.items():
            detail = f"{uncovered_detail(files)}, because {why}"
            reasons = (*reasons, Reason(code=ReasonCode.WHOLE_FILES, detail=detail))
        return TablePruning(
            table=self.table,
            files_total=self.total,
            files_read=self.read,
            uncovered=self.uncovered,
            indexes=self.plan.used if self.plan is not None else (),
            reasons=reasons,
            predicate=self.predicate,
            rows_total=self.rows_total,
            rows_read=self.rows_read,
        )


class FilePruner:
    """Finds the files of predicates for the scans of one engine; keeps indexes open."""

    def __init__(self, locations: Iterable[str] = (), *, seconds: float = PLANNING_SECONDS) -> None:
        roots = tuple(locations)
        self._registry = IndexRegistry(roots, options_by_environment())
        self._is_local = all(map(_is_on_disk, roots))
        self._seconds = seconds

    def of_table(
        self, table: TableReader, columns: Mapping[tuple[str, ...], Column], wanted: Expr | KeepTree
    ) -> EngineScan:
        """Plan one scan of a table that was opened here, as :meth:`prune` does."""
        if isinstance(wanted, KeepTree):
            return EngineScan(table=table.name, reasons=wanted.reasons, plan=wanted)
        return self.prune(
            table.name,
            location=table.location,
            uuid=table.uuid,
            file_io=table.file_io,
            columns=lambda: columns,
            expression=lambda: wanted,
        )

    def prune(
        self,
        table: str,
        *,
        location: str,
        uuid: str,
        file_io: Mapping[str, str],
        columns: Callable[[], Mapping[tuple[str, ...], Column]],
        expression: Callable[[], Expr],
    ) -> EngineScan:
        """Plan one scan. Whatever goes wrong leaves every file in it, with a coded reason."""
        until = time.monotonic() + self._seconds

        def look() -> EngineScan:
            indexes, reasons = self._registry.indexes(location, uuid, file_io=file_io, until=until)
            if not indexes:
                missing = Reason(code=ReasonCode.NO_INDEX, detail="")
                return EngineScan(table=table, reasons=tuple(reasons) or (missing,))
            known = columns()
            planned = plan(known, expression(), indexes, uuid, strict=False)
            for index in planned.plan.indexes:
                # what cannot be read shows now, when every file can still be scanned
                index.paths()
            return EngineScan(
                table=table,
                reasons=(*reasons, *planned.reasons),
                plan=planned.plan if planned.plan.skips else None,
                predicate=planned.condition(known),
            )

        if self._is_local and _is_on_disk(location):
            # nothing to wait for: a thread would only cost a switch to it and back
            return _tried(table, look)
        task = Background(look)
        if not task.wait(until):
            detail = "planning took longer than the query waits for it"
            late = Reason(code=ReasonCode.PLANNING_TIMEOUT, detail=detail)
            return EngineScan(table=table, reasons=(late,))
        return _tried(table, task.result)


def _is_on_disk(location: str) -> bool:
    try:
        return normalized(location).startswith("/")
    except LakesieveError:
        return False


def _tried(table: str, look: Callable[[], EngineScan]) -> EngineScan:
    try:
        return look()
    except Exception as error:  # noqa: BLE001 - the scan reads every file
        return failed(table, error)


def failed(table: str, error: Exception) -> EngineScan:
    """Return a scan that reads every file because of a failure."""
    detail = f"{type(error).__name__}: {error}"
    return EngineScan(table=table, reasons=(Reason(code=ReasonCode.INTERNAL_ERROR, detail=detail),))


def remember(scans: Sequence[EngineScan]) -> None:
    """Keep what the latest query of an engine did."""
    with _lock:
        _latest[:] = scans


def last_pruning() -> list[TablePruning]:
    """Return what the latest scan of an engine in this process did.

    Examples:
        >>> orders.scan_polars().filter(pl.col("customer") == 4711).collect().height
        1
        >>> ls.engines.polars.last_pruning()[0].files_read
        1
    """
    with _lock:
        # a scan reads while its caller consumes it, so it still counts
        return ShownList(scan.result() for scan in _latest)
