"""Estimate what an index on each candidate would do, from trial indexes and a table's uses."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.advisor.result import Estimate
from lakesieve.advisor.uses import looks_for_parts
from lakesieve.index import Candidates, OpenedIndex, plan
from lakesieve.predicate import (
    AllOf,
    AnyOf,
    ColumnRanges,
    ElementRanges,
    EntryRows,
    KeysWith,
)
from lakesieve.sieve import KeysOfRow
from lakesieve.store import IndexStore

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from lakesieve.advisor.trial import Trial
    from lakesieve.advisor.uses import JoinedColumn, TableUse
    from lakesieve.index.scan_decision import ScanDecision
    from lakesieve.predicate import Expr, Ranges, RowFilter
    from lakesieve.store import Snapshot
    from lakesieve.tables import Column

_KEYS = 2_048
# of the normal distribution, for 95 %
_Z = 1.96
# most different uses that are judged; the others count like their average
_MAX_USES = 2_000
# most of them that look for parts of texts, for each of which an index may read all of its words
_MAX_SEARCHES = 200


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Sample:
    """The data files over which trials were built."""

    table_uuid: str
    # the table's columns and the expressions that conditions have, by path
    columns: Mapping[tuple[str, ...], Column]
    paths: pa.Array
    files: int  # number of data files of the table
    timezone: str  # for timestamps that are written without a zone
    has_statistics: bool  # whether engines skip files of this format by minimum and maximum

    @property
    def scale(self) -> float:
        """Number of files of the table for each sampled file."""
        return self.files / max(len(self.paths), 1)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class IndexAnswers:
    """What an index leaves of the sampled files."""

    found: np.ndarray  # shares according to the trial: a row for each use, a column for each file
    expected: np.ndarray  # the same, but for single keys from the number of files with a key
    served: np.ndarray  # which uses restrict its first column
    look_up: float  # seconds of a look-up


class BoundsOfFiles(OpenedIndex):
    """An index that answers only by minimum and maximum."""

    def __init__(self, store: IndexStore, snapshot: Snapshot) -> None:
        super().__init__(store, snapshot)
        self._bounds = self.file_bounds()

    def may_match(self, ranges: Ranges) -> Candidates | None:
        """Return whether a value of the ranges fits each file's minimum and maximum."""
        mask = np.zeros(len(self._bounds.lows), bool)
        if ranges.nulls:
            mask |= self.flagged("has_null")
        for interval in ranges.intervals:
            mask |= self._bounds.meet(interval)
        return Candidates(keep=mask)


class FileShares:
    """For each use and each sampled file, the probability that the file is read."""

    def __init__(self, sample: Sample, uses: Sequence[TableUse]) -> None:
        chosen = list(uses)
        searches = sum(looks_for_parts(use.condition) for use in chosen)
        most = min(_MAX_USES, len(chosen) * _MAX_SEARCHES // max(searches, _MAX_SEARCHES))
        if len(chosen) > most:
            order = np.random.default_rng(7).permutation(len(chosen))[:most]
            chosen = [chosen[at] for at in sorted(order.tolist())]
        self.uses = chosen
        self.weight = len(uses) / max(len(chosen), 1)
        self.a_day = np.array([use.a_day for use in chosen]) * self.weight
        self.sample = sample

    def by_indexes(self, indexes: Sequence[OpenedIndex]) -> np.ndarray:
        """Return the shares for some indexes together: a row for each use, a column a file."""
        shares = np.ones((len(self.uses), len(self.sample.paths)))
        for at, use in enumerate(self.uses if indexes else ()):
            shares[at], _ = self.kept(use.condition, indexes, self.sample.paths)
        return shares

    def by_bounds(self, trials: Sequence[Trial]) -> np.ndarray:
        """Return the shares for the minimum and maximum of columns, if the format has them."""
        if not self.sample.has_statistics:
            return self.by_indexes([])
        # a format knows nothing of expressions
        single = [t for t in trials if len(t.columns) == 1 and t.columns[0].expression is None]
        states = [(IndexStore(trial.index.storage), trial.index.snapshot) for trial in single]
        return self.by_indexes([BoundsOfFiles(store, snapshot) for store, snapshot in states])

    def by_index(self, trial: Trial) -> IndexAnswers:
        """Return the shares for one index."""
        by_trial = np.ones((len(self.uses), len(self.sample.paths)))
        served = np.zeros(len(self.uses), bool)
        points = np.zeros(len(self.uses))
        start = time.perf_counter()
        for at, use in enumerate(self.uses):
            by_trial[at], decision = self.kept(use.condition, [trial.index], self.sample.paths)
            served[at] = _is_served(decision, trial)
            points[at] = _keys_wanted(decision, trial)
        seconds = (time.perf_counter() - start) / max(len(self.uses), 1)
        leading = trial.columns[0].path
        joins = [(at, one) for at, use in enumerate(self.uses) for one in use.joined]
        mine = [(at, one) for at, one in joins if one.column == leading and one.rows is not None]
        if mine and len(trial.columns) == 1:
            shares = self._key_shares(trial)
            for at, one in mine:
                served[at] = True
                by_trial[at] *= _hit(shares, one)
        by_keys = self._by_keys(trial, by_trial, points)
        return IndexAnswers(found=by_trial, expected=by_keys, served=served, look_up=seconds)

    def _by_keys(self, trial: Trial, found: np.ndarray, points: np.ndarray) -> np.ndarray:
        """Return the shares, estimating those of single keys from the index's own keys.

        A few literals hit few of the sampled files, or none. The thousands of keys in the index
        show better in how many files a key is, unless the hits contradict them.
        """
        single = points > 0
        if self.sample.scale <= 1 or not single.any():
            return found
        expected = points[single] * self._files_of_key(trial)
        hit = scaled(found[single], self.sample)
        if not hit.low <= float(expected.sum()) <= hit.high:
            return found
        by_keys = found.copy()
        by_keys[single] = np.minimum(expected / self.sample.files, 1)[:, None]
        return by_keys

    def _files_of_key(self, trial: Trial) -> float:
        """Estimate how many files of the table have a key, from the sampled files that have it.

        If a key is in f files, the number of sampled files with the key is a binomial draw. Keys
        without a sampled file are not seen.
        """
        codes = trial.index.key_sample(_KEYS)
        if codes is None or not len(codes):
            return 0.0
        which, _ = trial.index.points(codes)
        files_a_key = len(which) / max(len(np.unique(which)), 1)
        share = 1 / self.sample.scale
        low, high = 1.0, float(self.sample.files)
        for _ in range(40):
            middle = (low + high) / 2
            expected = middle * share / (1 - (1 - share) ** middle)
            low, high = (middle, high) if expected < files_a_key else (low, middle)
        return low

    def kept(
        self,
        condition: Expr,
        indexes: Sequence[OpenedIndex],
        paths: pa.Array | pa.ChunkedArray,
    ) -> tuple[np.ndarray, ScanDecision]:
        """Return the files that indexes leave for a condition, and what the indexes decided."""
        sample = self.sample
        planned = plan(
            sample.columns,
            condition,
            indexes,
            sample.table_uuid,
            strict=False,
            timezone=sample.timezone,
        )
        return planned.plan.of(paths).keep, planned

    def _key_shares(self, trial: Trial) -> np.ndarray:
        """Return, for each sampled file, the share of the index's keys in it."""
        shares = np.zeros(len(self.sample.paths))
        codes = trial.index.key_sample(_KEYS)
        if codes is None or not len(codes):
            return shares
        numbers = trial.index.numbers(self.sample.paths)
        which, files = trial.index.points(codes)
        counted = np.bincount(files, minlength=int(numbers.max(initial=-1)) + 1)
        # the index shortens texts, and a shortened text may be no key
        shares[numbers >= 0] = counted[numbers[numbers >= 0]] / max(len(np.unique(which)), 1)
        return shares


def _fields(decision: ScanDecision, trial: Trial) -> set[int]:
    """Return the fields that stand for keys of a trial: its leading column, or values of a map."""
    # of the expressions, the trial's index alone took part
    return {trial.columns[0].field_id} | {v.field_id for v in decision.expressions.values()}


def _is_served(decision: ScanDecision, trial: Trial) -> bool:
    """Return whether an index answers a condition."""
    is_restricted = not _fields(decision, trial).isdisjoint(fields_restricted(decision.row_filter))
    return is_restricted and bool(decision.plan.used)


def _keys_wanted(decision: ScanDecision, trial: Trial) -> int:
    """Return the number of single keys for which a condition asks, or 0 if it asks otherwise."""
    where = decision.row_filter
    first = trial.columns[0]
    if first.keys_of_row is KeysOfRow.WORDS:
        # a text has several words, of which each alone is in more files
        return 0
    if first.keys_of_row is KeysOfRow.LISTS and len(trial.columns) > 1:
        # only with its value, the key of a map is a whole key of the index
        of_values = _fields(decision, trial) - {first.field_id}
        return max((_points(where, field) for field in of_values), default=0)
    return math.prod(_points(where, column.field_id) for column in trial.columns)


def _points(where: RowFilter, field: int) -> int:
    """Return the number of single values of a field in a condition, or 0 if it has other ranges."""
    if isinstance(where, ColumnRanges | ElementRanges) and where.field_id == field:
        return 0 if where.ranges.nulls else len(where.ranges.singles() or ())
    if isinstance(where, AllOf):
        counts = [count for arg in where.args if (count := _points(arg, field))]
        return min(counts, default=0)
    return 0


def fields_restricted(where: RowFilter) -> frozenset[int]:
    """Return the fields that a condition restricts for every row."""
    match where:
        case ColumnRanges():
            # Spark adds IS NOT NULL to every comparison, which restricts nothing
            is_any = where.ranges.intervals == ((None, None),)
            return frozenset() if is_any else frozenset((where.field_id,))
        case ElementRanges() | EntryRows() | KeysWith():
            return frozenset((where.field_id,))
        case AllOf():
            return frozenset().union(*(fields_restricted(arg) for arg in where.args))
        case AnyOf():
            # if one arm of an OR does not restrict a field, all its values may pass
            arms = [fields_restricted(arg) for arg in where.args]
            return arms[0].intersection(*arms[1:]) if arms else frozenset()
        case _:
            return frozenset()


def _hit(shares: np.ndarray, joined: JoinedColumn) -> np.ndarray:
    """Return the probability that each file holds one of the keys from a join's other side."""
    rows = joined.rows or 0
    return np.asarray(1 - (1 - np.minimum(shares, 1)) ** rows)


def scaled(shares: np.ndarray, sample: Sample) -> Estimate:
    """Estimate the files of the table from the files of the sample, over all uses.

    The error is the sampling error. Each file's sum over all uses is one draw.
    """
    of_file = shares.sum(axis=0)
    total = float(of_file.sum()) * sample.scale
    drawn = len(of_file)
    if drawn >= sample.files or drawn < 2:
        return Estimate.exact(total)
    not_drawn = 1 - drawn / sample.files
    error = _Z * sample.files * float(of_file.std(ddof=1)) * (not_drawn / drawn) ** 0.5
    return Estimate(value=total, low=max(total - error, float(of_file.sum())), high=total + error)


def with_error_of(value: np.ndarray, band: Estimate, sample: Sample) -> Estimate:
    """Estimate how many of the table's files are read, within the bounds of ``band``."""
    total = float(value.sum()) * sample.scale
    return Estimate(value=total, low=min(band.low, total), high=max(band.high, total))


def index_bytes(trial: Trial, half: Trial | None, rows: int, scale: float) -> Estimate:
    """Estimate the bytes of the index of the whole table.

    With each doubling of the data files, the bits for each row grow by about the same amount. There
    are more files to name in a key's set, and separators are closer together.
    """
    if half is None or scale <= 1:
        return Estimate.exact(trial.bytes)
    flat = trial.bytes / max(trial.rows, 1) * rows
    a_row = (trial.bytes - half.bytes) / max(trial.rows - half.rows, 1)
    # a fixed size, and the same bits for each row: for small indexes and few keys
    linear = trial.bytes + max(a_row, 0.0) * (rows - trial.rows)
    bits, fewer = 8 * trial.bytes / max(trial.rows, 1), 8 * half.bytes / max(half.rows, 1)
    doubling = (bits - fewer) / float(np.log2(max(trial.rows, 2) / max(half.rows, 1)))
    doublings = float(np.log2(scale))
    grown = (bits + max(doubling, 0.0) * doublings) * rows / 8
    steep = (bits + 2 * max(doubling, 0.0) * doublings) * rows / 8
    value = grown if doubling > 0 else linear
    # the change of one doubling may repeat, in either direction, at each further doubling
    changed = abs(bits - fewer) / max(bits, 1e-9) * doublings
    low = min(value, flat, linear) * max(1 - changed, 0.0)
    return Estimate(value=value, low=low, high=max(value, flat, steep) * (1 + changed))


def build_seconds(trial: Trial, single: Sequence[Trial], rows: int, scale: float) -> Estimate:
    """Estimate the build time from the times of the trials."""
    if scale <= 1:
        return Estimate.exact(trial.seconds)
    least = min(one.seconds for one in single)
    more = max(trial.rows - single[0].rows, 1)
    low = trial.seconds + max(trial.seconds - least, 0.0) / more * (rows - trial.rows)
    high = trial.seconds / max(trial.rows, 1) * rows
    return Estimate(value=(low + high) / 2, low=min(low, high), high=max(low, high))


def refresh_seconds(single: Sequence[Trial]) -> Estimate:
    """Estimate the time of a refresh after one more file, from the builds over one file."""
    times = [one.seconds for one in single]
    return Estimate(value=sum(times) / len(times), low=min(times), high=max(times))
