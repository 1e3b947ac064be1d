"""The advisor: which keys of a table to index, judged by its use and by trial indexes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from lakesieve.advisor.described_keys import DescribedKeys
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
from lakesieve.advisor.trial import TrialBuilder, rows_of, sampled, trial_folder
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
from lakesieve.spark.build.keys import index_keys
from lakesieve.spark.build.progress import Onward
from lakesieve.spark.build.row_blocks import unit_of
from lakesieve.spark.build.source import indexable
from lakesieve.spark.session.access import access_by, session_timezone
from lakesieve.spark.tables import open_table
from lakesieve.spark.tables.hadoop import storage_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import pyarrow as pa
    from pyspark.sql import SparkSession

    from lakesieve.advisor.table_scans import KnownTable
    from lakesieve.advisor.trial import TrialSet
    from lakesieve.advisor.uses import UsesRead
    from lakesieve.format import IndexDefinition
    from lakesieve.index import BuildProgress
    from lakesieve.spark.tables import SparkTable
    from lakesieve.store import IndexStore
    from lakesieve.tables import Column

WITH_STATISTICS = frozenset(("iceberg", "delta"))
"""Formats whose own readers leave out data files by their minimum and maximum."""


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
    """Advise which columns of tables to index and which not, with savings and costs.

    Event logs and SQL statements show how the tables are used. Trials show what an index would do.
    A trial is a real index over some of the data files, in a folder that is deleted afterwards.

    Args:
        tables: Names of tables, as for :func:`create_index`.
        event_logs: Logs of Spark 3.5 or newer, or folders of them: plain, rolled or compressed.
        queries: Files of SQL statements. Each statement counts as run once a day.
        spark: The session.
        sample: Rows whose keys are read. If it covers the whole table, nothing is extrapolated.
        location: A further root for indexes. If Spark is a cluster, trials are built there, too.
        check: Also compare the predictions with existing indexes.
        min_saved: Seconds of reading that an advised index must save each day.
        max_payback: Days within which an advised index must save its build time.
        progress: Called with each :class:`BuildProgress`, from another thread.

    Returns:
        For each table the advice on its columns, best first.

    Raises:
        NotFoundError: A table or a log does not exist.
        InvalidInputError: Nothing shows how the tables are used.
        UnsupportedError: Spark cannot read a table.

    Examples:
        >>> advice = ls.advise(["lake.shop.orders"], queries=["dashboards.sql"], spark=spark)[0]
        >>> [one.columns for one in advice.columns]
        [('customer',)]
    """
    names = [tables] if isinstance(tables, str) else list(tables)
    logs, files = list(event_logs), list(queries)
    _check(names, [*logs, *files], sample)
    worth = Thresholds(min_saved=min_saved, max_payback=max_payback)
    opened = [open_table(spark, name) for name in names]
    known_tables = [known_table(table.reader, _described_keys(table)) for table in opened]
    read: list[UsesRead] = []
    if logs:
        read.append(read_event_logs(logs, known_tables, storage_options(spark)))
    if files:
        read.append(read_statements(spark, files, known_tables))
    total = progress and Onward(progress)
    make = partial(_Advisor, spark=spark, sample=sample, location=location, check=check)
    return ShownList(
        make(table=table, known=known, number=number, read=read, worth=worth).advice(total)
        for number, (table, known) in enumerate(zip(opened, known_tables, strict=True))
    )


def _described_keys(table: SparkTable) -> DescribedKeys:
    """Return the keys of indexes on a table, as Spark describes them."""
    return DescribedKeys(partial(index_keys, table, table.reader.version()))


def _check(names: Sequence[str], sources: Sequence[str], sample: int) -> None:
    """Check that there are tables to advise on, and sources that show their use."""
    if not names or not sources:
        raise InvalidInputError(
            "Nothing shows how the tables are used." if names else "No table is named.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give event logs (spark.eventLog.dir) or files of SQL statements.",
        )
    if sample < 1:
        raise InvalidInputError(
            f"A sample of {sample} rows is too small.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give the number of rows whose keys are read, such as 5000000.",
        )


@dataclass(kw_only=True, eq=False)
class _Advisor:
    """The advice for one table."""

    spark: SparkSession
    table: SparkTable
    known: KnownTable
    number: int  # position of the table among those whose uses were read
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
        """Try the keys that queries restrict, and judge the results."""
        tried = candidates(self.uses, self._columns, self.known.keys)
        used = columns_queried(self.uses, self._columns, self.known.keys)
        unqueried = [
            ".".join(path)
            for path, column in sorted(self._columns.items())
            if path not in used and column.kind != "other"
        ]
        files, drawn = self._files.num_rows, 0
        drawn_rows = rows = 0
        columns: list[ColumnAdvice] = []
        checks: list[AdviceCheck] = []
        if tried and files:
            with trial_folder(self.spark, self.table, self.location) as folder:
                # the unit that an index has by default
                unit = unit_of(self.table, self._files, "auto")
                trials = TrialBuilder(self.spark, self.table, folder, unit, progress)
                some = trials.counted(sampled(self._files, self.sample), tried[0])
                drawn, drawn_rows = some.num_rows, _sum(some.column("records"))
                rows = rows_of(self._files, some)
                columns, checks = self._judge(trials, tried, some, rows)
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

    def _judge(
        self,
        trials: TrialBuilder,
        wanted: Sequence[tuple[Column, ...]],
        files: pa.Table,
        rows: int,
    ) -> tuple[list[ColumnAdvice], list[AdviceCheck]]:
        """Build the trial indexes, measure each against all uses, and judge the results."""
        is_whole = files.num_rows >= self._files.num_rows
        failures: dict[str, Exception] = {}
        tried = trials.try_columns(wanted, files, is_whole=is_whole, failures=failures)
        self.problems += [_failed(sql, error) for sql, error in failures.items()]
        if not tried:
            return [], []
        sample = Sample(
            table_uuid=self.table.reader.uuid,
            columns={**self.known.keys.expressions(), **self._columns},
            paths=files.column("path").combine_chunks(),
            files=self._files.num_rows,
            timezone=session_timezone(self.spark),
            has_statistics=self.table.reader.format in WITH_STATISTICS,
        )
        shares = FileShares(sample, self.uses)
        now = shares.by_bounds([one.trial for one in tried])
        a_file = self._seconds_a_file(trials, files, [one.trial.columns for one in tried])
        seconds = np.array(
            [
                a_file * now[at].sum() * sample.scale if use.seconds is None else use.seconds
                for at, use in enumerate(shares.uses)
            ]
        )
        existing = self._existing(tried)
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
        """Return the seconds that reading a file takes, for queries without a measurement."""
        if all(use.seconds is not None for use in self.uses):
            return 0.0
        single = {columns[0].field_id: columns[0] for columns in wanted if _is_single(columns)}
        return trials.seconds_a_file(files, tuple(single.values()))

    def _existing(self, tried: Sequence[TrialSet]) -> dict[tuple[str, ...], IndexStore]:
        """Return the table's existing indexes, by their keys as the trials name them."""
        by_keys = {_identity(one.trial.index.definition): one.columns for one in tried}
        by_columns = {}
        for store in access_by(self.spark).stores(self.table.reader, self.location).values():
            try:
                definition = store.snapshot().definition
                # the same expression may be written in another way
                by_columns[by_keys.get(_identity(definition), definition.key_names)] = store
            except LakesieveError as error:
                self.problems.append(str(error))
        return by_columns

    def _checks(
        self,
        measured: Sequence[TrialResult],
        existing: dict[tuple[str, ...], IndexStore],
        shares: FileShares,
    ) -> list[AdviceCheck]:
        """Compare predictions with what existing indexes leave of the same queries."""
        checks = []
        live = self._files.column("path")
        for one in measured:
            store = existing.get(one.columns)
            if store is None or not one.queries:
                continue
            # the keys from the other side of a join are not known any more
            by_condition = [
                at
                for at, use in enumerate(shares.uses)
                if one.served[at] and not any(j.column == one.path for j in use.joined)
            ]
            opened = [OpenedIndex.at(store, store.snapshot())]
            conditions = [shares.uses[at].condition for at in by_condition]
            files_left = sum(int(shares.kept(asks, opened, live)[0].sum()) for asks in conditions)
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
                    files_measured=files_left,
                    bytes_predicted=one.index_bytes,
                    bytes_measured=info.bytes,
                )
            )
        return checks


def _identity(definition: IndexDefinition) -> tuple[str, ...]:
    """Return the keys of an index, with expressions in their stored form."""
    return tuple(
        key.name if key.expression is None else key.expression.tree for key in definition.keys
    )


def _is_single(columns: Sequence[Column]) -> bool:
    """Return whether key columns are one column, or one expression."""
    first = columns[0].expression
    return len(columns) == 1 or (first is not None and columns[-1].expression == first)


def _failed(sql: str, error: Exception) -> str:
    """Return that no trial of an expression could be built, and why."""
    first = str(error).strip().partition("\n")[0][:160]
    return f"{sql}: no trial index could be built: {first}"


def _sum(counts: pa.ChunkedArray) -> int:
    return int(pc.sum(counts).as_py() or 0)


def _mean(total: Estimate, count: float) -> Estimate:
    return Estimate(value=total.value / count, low=total.low / count, high=total.high / count)


def _measured(tried: TrialSet, shares: FileShares, now: np.ndarray, rows: int) -> TrialResult:
    """Return what an index would do, according to its trials."""
    sample = shares.sample
    then = shares.by_index(tried.trial)
    served, count = then.served, max(float(then.served.sum()), 1.0)
    shares_left = np.minimum(then.expected, now)
    read_by_trial = scaled(np.minimum(then.found, now)[served], sample)
    return TrialResult(
        columns=tried.columns,
        path=tried.trial.columns[0].path,
        served=served,
        found=then,
        then=shares_left,
        queries=round(float(served.sum()) * shares.weight),
        files_now=_mean(scaled(now[served], sample), count),
        files_then=_mean(with_error_of(shares_left[served], read_by_trial, sample), count),
        look_up=then.look_up,
        index_bytes=index_bytes(tried.trial, tried.half, rows, sample.scale),
        build_seconds=build_seconds(tried.trial, tried.single, rows, sample.scale),
        refresh_seconds=refresh_seconds(tried.single),
    )
