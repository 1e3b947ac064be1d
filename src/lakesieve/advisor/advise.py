"""The advisor: which columns of a table to index, by how it is used and by trials."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from lakesieve.advisor.estimate import (
    FileShares,
    Sample,
    build_seconds,
    index_bytes,
    refresh_seconds,
    scaled,
    with_error_of,
)
from lakesieve.advisor.event_log import read_event_logs
from lakesieve.advisor.result import AdviceCheck, ColumnAdvice, Estimate, TableAdvice
from lakesieve.advisor.sql_files import read_statements
from lakesieve.advisor.table_scans import known_table
from lakesieve.advisor.trial import TrialBuilder, sampled, trial_folder
from lakesieve.advisor.uses import candidates, columns_queried
from lakesieve.advisor.verdicts import (
    Thresholds,
    TrialResult,
    existing_name,
    judge,
)
from lakesieve.defaults import MAX_PAYBACK_DAYS, MIN_SECONDS_SAVED, SAMPLE_ROWS
from lakesieve.errors import ErrorKind, InvalidInputError, LakesieveError
from lakesieve.index import Index, OpenedIndex, ShownList
from lakesieve.spark.build.progress import Onward
from lakesieve.spark.build.source import indexable
from lakesieve.spark.session.access import access_by, session_timezone
from lakesieve.spark.tables import open_table
from lakesieve.spark.tables.hadoop import storage_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lakesieve.advisor.trial import Trial
    from lakesieve.advisor.uses import UsesRead
    from lakesieve.index import BuildProgress
    from lakesieve.spark.tables import SparkTable
    from lakesieve.store import IndexStore
    from lakesieve.tables import Column

# formats whose own readers leave out files by minimum and maximum
_WITH_STATISTICS = frozenset(("iceberg", "delta"))


def advise(
    tables: str | Iterable[str],
    *,
    event_logs: Iterable[str] = (),
    queries: Iterable[str] = (),
    spark: SparkSession,
    sample: int = SAMPLE_ROWS,
    location: str | None = None,
    check: bool = False,
    min_saved: float = MIN_SECONDS_SAVED,
    max_payback: float = MAX_PAYBACK_DAYS,
    progress: Callable[[BuildProgress], None] | None = None,
) -> list[TableAdvice]:
    """Tell which columns of tables to index, what that would save and cost, and which not to index.

    How the tables are used comes from event logs and statements. What an index would do comes from
    trials: real indexes over some of the data files, in a folder that goes away.

    Args:
        tables: Names of tables, as for :func:`create_index`.
        event_logs: Logs of Spark 3.5 or newer, or folders of them: plain, rolled or compressed.
        queries: Files of SQL statements, each of which counts as run once a day.
        spark: The session.
        sample: Rows whose keys are read; with as many as a table has, nothing is extrapolated.
        location: A further root for indexes; trials go there, too, where Spark is a cluster.
        check: Also compare the predictions with the indexes that exist.
        min_saved: Seconds of reading a day that an index must save to be advised.
        max_payback: Days after which building an index must be paid to be advised.
        progress: Called with each :class:`BuildProgress`, from another thread.

    Returns:
        For each table the columns, best first.

    Raises:
        NotFoundError: There is no such table, or no log.
        InvalidInputError: Nothing tells how the tables are used.
        UnsupportedError: Spark cannot read a table.
    """
    names = [tables] if isinstance(tables, str) else list(tables)
    logs, files = list(event_logs), list(queries)
    _check(names, [*logs, *files], sample)
    worth = Thresholds(min_saved=min_saved, max_payback=max_payback)
    opened = [open_table(spark, name) for name in names]
    known = [known_table(table.reader) for table in opened]
    read: list[UsesRead] = []
    if logs:
        read.append(read_event_logs(logs, known, storage_options(spark)))
    if files:
        read.append(read_statements(spark, files, known))
    heard = progress and Onward(progress)
    make = partial(_Advisor, spark=spark, sample=sample, location=location, check=check)
    return ShownList(
        make(table=table, number=number, read=read, worth=worth).advice(heard)
        for number, table in enumerate(opened)
    )


def _check(names: Sequence[str], sources: Sequence[str], sample: int) -> None:
    """Insist that there is something to advise on, and by."""
    if not names or not sources:
        raise InvalidInputError(
            "Nothing shows how the tables are used." if names else "No table was named.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give event logs (spark.eventLog.dir) or files of SQL statements.",
        )
    if sample < 1:
        raise InvalidInputError(
            f"A sample of {sample} rows shows nothing.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give the number of rows whose keys are read, such as 5000000.",
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _TrialSet:
    """A trial over the sample, one over half of it where the sample is not all, two over a file."""

    trial: Trial
    half: Trial | None
    single: tuple[Trial, Trial]

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return tuple(".".join(column.path) for column in self.trial.columns)


@dataclass(kw_only=True, eq=False)
class _Advisor:
    """The advice for one table."""

    spark: SparkSession
    table: SparkTable
    number: int  # of the table, among those whose uses were read
    read: Sequence[UsesRead]
    sample: int  # rows whose keys are read
    location: str | None
    check: bool
    worth: Thresholds

    def __post_init__(self) -> None:
        self.uses = [use for one in self.read for use in one.uses if use.table == self.number]
        self.problems = [problem for one in self.read for problem in one.problems]
        self.days = max(one.days for one in self.read)
        version = self.table.reader.version()
        self._columns = self.table.reader.columns(version)
        self._files = indexable(self.table.reader.live_files(version))

    def advice(self, progress: Callable[[BuildProgress], None] | None) -> TableAdvice:
        """Try what queries restrict, and judge it."""
        wanted = candidates(self.uses, self._columns)
        used = {path for use in self.uses for path in columns_queried(use)}
        unqueried = [
            ".".join(path)
            for path, column in sorted(self._columns.items())
            if path not in used and column.kind != "other"
        ]
        files, drawn = self._files.num_rows, 0
        drawn_rows = rows = 0
        columns: list[ColumnAdvice] = []
        checks: list[AdviceCheck] = []
        if wanted and files:
            with trial_folder(self.spark, self.table, self.location) as folder:
                trials = TrialBuilder(self.spark, self.table, folder, progress)
                some = trials.counted(sampled(self._files, self.sample), wanted[0])
                drawn, drawn_rows = some.num_rows, _sum(some.column("records"))
                rows = self._all_rows(some)
                columns, checks = self._judge(trials, wanted, some, rows)
        return TableAdvice(
            table=self.table.reader.name,
            files=files,
            rows=rows,
            sampled_files=drawn,
            sampled_rows=drawn_rows,
            queries=len(self.uses),
            days=self.days,
            columns=tuple(columns),
            unqueried=tuple(unqueried),
            checks=tuple(checks),
            problems=tuple(self.problems),
        )

    def _all_rows(self, some: pa.Table) -> int:
        """Return the rows of the table, or about as many."""
        known = self._files.column("records")
        if not known.null_count:
            return _sum(known)
        counted = _sum(some.column("records"))
        a_file: float = counted / max(some.num_rows, 1)
        return round(a_file * float(self._files.num_rows))

    def _judge(
        self,
        trials: TrialBuilder,
        wanted: Sequence[tuple[Column, ...]],
        files: pa.Table,
        rows: int,
    ) -> tuple[list[ColumnAdvice], list[AdviceCheck]]:
        """Build the trials, and measure each by all uses."""
        is_whole = files.num_rows >= self._files.num_rows
        is_small = is_whole or files.num_rows < 4
        half = None if is_small else files.take(np.arange(0, files.num_rows, 2))
        one = files.slice(files.num_rows // 2, 1)
        # the first of a session loads classes
        trials.build(wanted[0], one)
        tried = [
            _TrialSet(
                single=(trials.build(columns, one), trials.build(columns, one)),
                half=None if half is None else trials.build(columns, half),
                trial=trials.build(columns, files),
            )
            for columns in wanted
        ]
        sample = Sample(
            table_uuid=self.table.reader.uuid,
            columns=self._columns,
            paths=files.column("path").combine_chunks(),
            files=self._files.num_rows,
            timezone=session_timezone(self.spark),
            has_statistics=self.table.reader.format in _WITH_STATISTICS,
        )
        shares = FileShares(sample, self.uses)
        now = shares.by_bounds([one.trial for one in tried if len(one.trial.columns) == 1])
        a_file = self._seconds_a_file(trials, files, wanted)
        seconds = np.array(
            [
                a_file * now[at].sum() * sample.scale if use.seconds is None else use.seconds
                for at, use in enumerate(shares.uses)
            ]
        )
        existing = self._existing()
        names = {have: store.snapshot().definition.name for have, store in existing.items()}
        opened = [OpenedIndex.at(store, store.snapshot()) for store in existing.values()]
        indexed = np.minimum(now, shares.by_indexes(opened))
        before = [now if existing_name(one.columns, names) else indexed for one in tried]
        measured = [_measured(o, shares, b, rows) for o, b in zip(tried, before, strict=True)]
        columns = judge(
            measured,
            table=self.table.reader.name,
            files=self._files.num_rows,
            now=now,
            indexed=indexed,
            seconds=seconds * shares.a_day,
            existing=names,
            worth=self.worth,
        )
        checks = self._checks(measured, existing, shares) if self.check else []
        return columns, checks

    def _seconds_a_file(
        self, trials: TrialBuilder, files: pa.Table, wanted: Sequence[tuple[Column, ...]]
    ) -> float:
        """Return how long a file is read, where queries do not tell."""
        if all(use.seconds is not None for use in self.uses):
            return 0.0
        single = {columns[0].field_id: columns[0] for columns in wanted if len(columns) == 1}
        return trials.seconds_a_file(files, tuple(single.values()))

    def _existing(self) -> dict[tuple[str, ...], IndexStore]:
        """Return the indexes that the table has, by their columns."""
        found = {}
        for store in access_by(self.spark).stores(self.table.reader, self.location).values():
            try:
                found[tuple(c.name for c in store.snapshot().definition.columns)] = store
            except LakesieveError as error:
                self.problems.append(str(error))
        return found

    def _checks(
        self,
        measured: Sequence[TrialResult],
        existing: dict[tuple[str, ...], IndexStore],
        shares: FileShares,
    ) -> list[AdviceCheck]:
        """Predictions beside what indexes that exist leave of the same queries."""
        checks = []
        live = self._files.column("path")
        for one in measured:
            store = existing.get(one.columns)
            if store is None or not one.queries:
                continue
            # what a join's other side held is not known any more
            by_condition = [
                at
                for at, use in enumerate(shares.uses)
                if one.served[at] and not any(j.column == one.path for j in use.joined)
            ]
            opened = [OpenedIndex.at(store, store.snapshot())]
            conditions = [shares.uses[at].condition for at in by_condition]
            left = sum(int(shares.kept(asks, opened, live)[0].sum()) for asks in conditions)
            info = Index(self.table.reader, store.storage).info()
            checks.append(
                AdviceCheck(
                    columns=one.columns,
                    index=info.name,
                    files_predicted=with_error_of(
                        one.found.expected[by_condition],
                        scaled(one.found.found[by_condition], shares.sample),
                        shares.sample,
                    ),
                    files_measured=left,
                    bytes_predicted=one.index_bytes,
                    bytes_measured=info.bytes,
                )
            )
        return checks


def _sum(counts: pa.ChunkedArray) -> int:
    return int(pc.sum(counts).as_py() or 0)


def _mean(total: Estimate, count: float) -> Estimate:
    return Estimate(value=total.value / count, low=total.low / count, high=total.high / count)


def _measured(tried: _TrialSet, shares: FileShares, now: np.ndarray, rows: int) -> TrialResult:
    """Return what an index would do, by its trials."""
    sample = shares.sample
    then = shares.by_index(tried.trial)
    served, count = then.served, max(float(then.served.sum()), 1.0)
    left = np.minimum(then.expected, now)
    found = scaled(np.minimum(then.found, now)[served], sample)
    return TrialResult(
        columns=tried.columns,
        path=tried.trial.columns[0].path,
        served=served,
        found=then,
        then=left,
        queries=round(float(served.sum()) * shares.weight),
        files_now=_mean(scaled(now[served], sample), count),
        files_then=_mean(with_error_of(left[served], found, sample), count),
        look_up=then.look_up,
        index_bytes=index_bytes(tried.trial, tried.half, rows, sample.scale),
        build_seconds=build_seconds(tried.trial, tried.single, rows, sample.scale),
        refresh_seconds=refresh_seconds(tried.single),
    )
