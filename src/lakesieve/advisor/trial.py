"""Build trial indexes: real ones over some of a table's data files, in a temporary folder."""

from __future__ import annotations

import tempfile
import time
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.index import Index, OpenedIndex
from lakesieve.index.definition import define
from lakesieve.sieve import ABSENT_HITS
from lakesieve.spark.build.indexing import add_files
from lakesieve.spark.build.source import SMALLEST_SPLIT, IndexBuild, Source
from lakesieve.spark.rule.installed import installed_rule
from lakesieve.spark.session.access import access_by
from lakesieve.spark.tables.contract import RawRead
from lakesieve.storage import open_storage
from lakesieve.store import COMPACTION, IndexStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.format import Unit
    from lakesieve.index import BuildProgress
    from lakesieve.spark.tables import SparkTable
    from lakesieve.storage import Storage
    from lakesieve.tables import Column

_FILES_READ = 8


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """An index over some data files."""

    columns: tuple[Column, ...]
    index: OpenedIndex
    rows: int  # rows of the data files
    bytes: int  # size of the index
    seconds: float  # build time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrialSet:
    """A trial over the sample, one over half of it where the sample is not all, two over a file."""

    trial: Trial
    half: Trial | None
    single: tuple[Trial, Trial]

    @property
    def columns(self) -> tuple[str, ...]:
        """Its keys, as one gives them to ``create_index``: columns, or one expression."""
        return self.trial.index.definition.key_names


def rows_of(files: pa.Table, counted: pa.Table) -> int:
    """Return the rows of data files, or about as many by some of them that were counted."""
    known = files.column("records")
    if not known.null_count:
        return int(pc.sum(known).as_py() or 0)
    a_file: float = int(pc.sum(counted.column("records")).as_py() or 0) / max(counted.num_rows, 1)
    return round(a_file * float(files.num_rows))


@contextmanager
def trial_folder(spark: SparkSession, table: SparkTable, location: str | None) -> Iterator[Storage]:
    """Yield a folder that executors can write to, and delete it afterwards.

    Args:
        spark: The session.
        table: The table.
        location: A root for indexes. The default is the table's own folder. If Spark runs only on
            this machine, it is the machine's folder for temporary files.
    """
    master = str(spark.sparkContext.master)
    if location is None and master.startswith("local") and "cluster" not in master:
        with tempfile.TemporaryDirectory(prefix="lakesieve-advise-") as folder:
            yield open_storage(folder)
        return
    root = access_by(spark).roots(table.reader, location)[-1].child(f"_trials-{uuid.uuid4().hex}")
    try:
        yield root
    finally:
        for info in root.objects(""):
            root.delete(info.path)


def sampled(files: pa.Table, rows: int) -> pa.Table:
    """Draw data files with about ``rows`` rows: always the same files, in the table's order."""
    order = np.random.default_rng(7).permutation(files.num_rows)
    records = files.column("records")
    if records.null_count:
        # estimate rows from bytes, at forty bytes a row
        records = pc.divide(pc.fill_null(files.column("size"), 0), 40)
    counted = np.cumsum(records.to_numpy()[order])
    count = max(2, int(np.searchsorted(counted, rows, side="right")))
    # in the table's order, which an index over all files would have
    return files.take(pa.array(np.sort(order[:count])))


class TrialBuilder:
    """Builds trial indexes of one version of a table."""

    def __init__(
        self,
        spark: SparkSession,
        table: SparkTable,
        folder: Storage,
        unit: Unit,
        progress: Callable[[BuildProgress], None] | None = None,
    ) -> None:
        self._spark = spark
        self._table = table
        self._folder = folder
        self._rows_per_block = unit.rows
        self._progress = progress
        self._rule = installed_rule(spark)
        self._version = table.reader.version()
        # listed only once for all trials
        self._live = table.reader.live_files(self._version).num_rows
        self._made = 0

    def counted(self, files: pa.Table, columns: Sequence[Column]) -> pa.Table:
        """Return the data files with the rows of each."""
        return self._source(files, columns).counted(self._rule).files

    def try_columns(
        self,
        wanted: Sequence[tuple[Column, ...]],
        files: pa.Table,
        *,
        is_whole: bool,
        budget: str | None = None,
        absent_hits: float = ABSENT_HITS,
        failures: dict[str, Exception] | None = None,
    ) -> list[TrialSet]:
        """Build the trial indexes of each key over sampled data files, or over all data files.

        Spark may fail to compute an expression, such as a cast of a text that is no number. The
        error is stored in ``failures`` under the expression. Without ``failures``, it is raised.
        """
        build = partial(self.build, budget=budget, absent_hits=absent_hits)
        is_small = is_whole or files.num_rows < 4
        half = None if is_small else files.take(np.arange(0, files.num_rows, 2))
        one = files.slice(files.num_rows // 2, 1)
        tried: list[TrialSet] = []
        for columns in wanted:
            expression = columns[0].expression
            try:
                if not tried:
                    # the first trial of a session also loads classes, so its time does not count
                    build(columns, one)
                trials = TrialSet(
                    single=(build(columns, one), build(columns, one)),
                    half=None if half is None else build(columns, half),
                    trial=build(columns, files),
                )
            except Exception as error:
                if failures is None or expression is None:
                    raise
                failures[expression.sql] = error
            else:
                tried.append(trials)
        return tried

    def build(
        self,
        columns: Sequence[Column],
        files: pa.Table,
        *,
        budget: str | None = None,
        absent_hits: float = ABSENT_HITS,
    ) -> Trial:
        """Build one trial index."""
        key = tuple(columns)
        storage = self._folder.child(f"trial-{self._made}")
        self._made += 1
        definition = define(
            self._table.reader,
            key,
            "trial",
            budget=budget,
            absent_hits=absent_hits,
            compaction=COMPACTION,
            rows_per_block=self._rows_per_block,
        )
        store = IndexStore(storage)
        build = IndexBuild(definition=definition, store=store, columns=key)
        names = ", ".join(definition.key_names)
        start = time.perf_counter()
        add_files(
            self._spark,
            self._source(files, key),
            [build],
            operation="create",
            description=f"lakesieve: trial on {names}",
            progress=self._progress,
        )
        if build.error is not None:
            raise build.error
        seconds = time.perf_counter() - start
        return Trial(
            columns=key,
            index=OpenedIndex.at(store, store.snapshot()),
            rows=build.rows,
            bytes=Index(self._table.reader, storage).info().bytes,
            seconds=seconds,
        )

    def seconds_a_file(self, files: pa.Table, columns: Sequence[Column]) -> float:
        """Measure how long Spark reads some columns of a data file, using all of its cores."""
        few = files.slice(0, _FILES_READ)
        source = replace(self._source(few, columns), is_partial=True)
        best = float("inf")
        with self._rule.raw_reads(source.selected()) as selection:
            for _ in range(2):
                start = time.perf_counter()
                read = RawRead(columns=columns, split_bytes=SMALLEST_SPLIT, selection=selection)
                rows = self._table.raw_rows(self._version, read)
                rows.write.format("noop").mode("overwrite").save()
                best = min(best, time.perf_counter() - start)
        return float(best / max(few.num_rows, 1))

    def _source(self, files: pa.Table, columns: Sequence[Column]) -> Source:
        return Source(
            table=self._table,
            version=self._version,
            columns=tuple(columns),
            files=files,
            is_partial=files.num_rows < self._live,
        )
