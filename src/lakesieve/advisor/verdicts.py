"""Decide the advice on columns, from the measurements of each."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.advisor.result import ColumnAdvice, Estimate, Verdict
from lakesieve.defaults import MAX_PAYBACK_DAYS, MIN_SECONDS_SAVED
from lakesieve.index.definition import default_name
from lakesieve.predicate import source_of_many

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.advisor.estimate import IndexAnswers

# an index must skip a fifth of the files that its queries read
_WORTH = 0.2
# and, next to the other advised indexes, save a fifth of what it saves alone
_MORE = 0.2
# of two indexes that save about the same, the smaller one is advised
_AS_GOOD = 0.95
_FEW, _MOST = 0.2, 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The gain from which an index is advised."""

    min_saved: float = MIN_SECONDS_SAVED  # seconds of reading that it must save each day
    max_payback: float = MAX_PAYBACK_DAYS  # days within which it must save its build time


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TrialResult:
    """What an index on some columns would do."""

    columns: tuple[str, ...]
    path: tuple[str, ...]  # path of the first column
    served: np.ndarray  # which uses restrict the columns
    found: IndexAnswers  # what the index leaves of the sampled files
    then: np.ndarray  # probability that a use reads a sampled file then: a row for each use
    queries: int  # number of queries that it serves
    files_now: Estimate  # data files that these queries read now, on average
    files_then: Estimate  # data files that they would read
    look_up: float  # seconds of a look-up
    index_bytes: Estimate  # size of the index
    build_seconds: Estimate  # build time
    refresh_seconds: Estimate  # time of a refresh after one more file


def judge(
    measured: Sequence[TrialResult],
    *,
    table: str,
    files: int,
    now: np.ndarray,
    indexed: np.ndarray,
    seconds: np.ndarray,
    existing: Mapping[tuple[str, ...], str],
    worth: Thresholds,
) -> list[ColumnAdvice]:
    """Rank the tried columns, and decide for each whether to index it."""
    names = {one.columns: existing_name(one.columns, existing) for one in measured}
    saved = {
        one.columns: _saved(one, now if names[one.columns] else indexed, now, seconds)
        for one in measured
    }
    ranked = sorted(measured, key=lambda one: -saved[one.columns])
    verdicts = {
        one.columns: _alone(one, files, saved[one.columns], names[one.columns], worth)
        for one in ranked
    }
    for one in ranked if existing else ():
        fresh = _saved(one, now, now, seconds)
        is_new = names[one.columns] is None and _spares(one, now)
        if is_new and saved[one.columns] < _MORE * max(fresh, 0.0):
            why = "the existing indexes leave nearly as few files to the same queries"
            verdicts[one.columns] = (Verdict.COVERED, why)
    chosen = _together(
        [one for one in ranked if verdicts[one.columns][0] is Verdict.INDEX], now, indexed, seconds
    )
    chosen = (*(one.columns for one in ranked if names[one.columns]), *chosen)
    for one in ranked:
        verdict, _ = verdicts[one.columns]
        if verdict is Verdict.INDEX and one.columns not in chosen:
            better = _nearest(one, [other for other in measured if other.columns in chosen])
            why = f"an index on {', '.join(better)} answers nearly all of the same queries"
            verdicts[one.columns] = (Verdict.COVERED, why)
    order = list(chosen)
    advised = [columns for columns in order if verdicts[columns][0] is Verdict.INDEX]
    new_names = _new_names(advised, set(existing.values()))
    advice = [
        _advice(
            one, table, saved[one.columns], verdicts[one.columns], new_names.get(one.columns, "")
        )
        for one in ranked
    ]
    return sorted(
        advice, key=lambda one: order.index(one.columns) if one.columns in chosen else len(order)
    )


def existing_name(columns: tuple[str, ...], existing: Mapping[tuple[str, ...], str]) -> str | None:
    """Return the name of the index whose first keys are these columns, and which they can use."""
    wanted = len(columns)
    names = [
        name
        for have, name in existing.items()
        # with elements or entries behind them, some rows have no key
        if have[:wanted] == columns and not any(map(source_of_many, have[wanted:]))
    ]
    return existing.get(columns, names[0] if names else None)


def _new_names(advised: Sequence[tuple[str, ...]], taken: set[str]) -> dict[tuple[str, ...], str]:
    """Return a name for each advised index that no other index has."""
    names: dict[tuple[str, ...], str] = {}
    for columns in advised:
        name = default_name(columns)
        others = (f"{name}_{number}" for number in count(2))
        # such as for the expressions id % 100 and id + 100
        names[columns] = next(one for one in chain([name], others) if one not in taken)
        taken = taken | {names[columns]}
    return names


def _spares(one: TrialResult, before: np.ndarray) -> bool:
    """Return whether an index skips enough of the files that its queries read before."""
    read = float(before[one.served].sum())
    files_left = float(np.minimum(one.then, before)[one.served].sum())
    return one.queries > 0 and read - files_left >= _WORTH * read


def _unpaid(one: TrialResult, saved: float, worth: Thresholds) -> str:
    """Return why an index that leaves few files is not worth building, or an empty text."""
    if saved >= worth.min_saved and one.build_seconds.value <= worth.max_payback * saved:
        return ""
    days = one.build_seconds.value / max(saved, 1e-9)
    return (
        f"it would save {saved:.2g} seconds a day and its build pays off after {days:,.0f} days; "
        "an "
        f"advised index saves {worth.min_saved:g} seconds a day and pays off within "
        f"{worth.max_payback:g} days"
    )


def _saved(one: TrialResult, before: np.ndarray, now: np.ndarray, seconds: np.ndarray) -> float:
    """Return the seconds that an index saves each day, compared with the reads before it.

    Without any index, the uses read the files of ``now`` in ``seconds`` a day. The time of look-ups
    is subtracted.
    """
    read_now = now.sum(axis=1)
    spared = before.sum(axis=1) - np.minimum(one.then, before).sum(axis=1)
    share = np.divide(spared, read_now, out=np.zeros_like(read_now), where=read_now > 0)
    return float((seconds * share).sum()) - one.look_up * one.queries


def _alone(
    one: TrialResult, files: int, saved: float, existing: str | None, worth: Thresholds
) -> tuple[Verdict, str]:
    """Return the verdict on an index as if there were no other index."""
    now, then = one.files_now.value, one.files_then.value
    leaves = f"{_files(then)} of the {_files(now)} that its queries read now"
    if existing is not None:
        without = f"{_files(then)} of the {_files(now)} that its queries would read without it"
        return Verdict.EXISTS, f"indexed already, by {existing}: it leaves {without}"
    if not one.queries:
        return Verdict.UNANSWERED, "queries use it, but in conditions that no index can answer"
    if now - then >= _WORTH * now and saved > 0:
        unpaid = _unpaid(one, saved, worth)
        return (
            (Verdict.LITTLE_SAVED, unpaid)
            if unpaid
            else (Verdict.INDEX, f"it would leave {leaves}")
        )
    if then > _MOST * files:
        return Verdict.IN_EVERY_FILE, f"what is wanted is in {_files(then)} of {files} files"
    if now <= max(_FEW * files, 1):
        why = f"minimum and maximum leave {_files(now)} of {files} files already"
        return Verdict.CLUSTERED, why
    return Verdict.LITTLE_SAVED, f"it would leave {leaves}"


def _nearest(one: TrialResult, chosen: Sequence[TrialResult]) -> tuple[str, ...]:
    """Return the advised index that leaves the fewest files to the queries of another one."""
    return min(chosen, key=lambda other: float(other.then[one.served].sum())).columns


def _files(count: float) -> str:
    return f"{count:,.0f}" if count >= 10 or count == round(count) else f"{count:.1f}"


def _together(
    worth: Sequence[TrialResult],
    now: np.ndarray,
    indexed: np.ndarray,
    seconds: np.ndarray,
) -> tuple[tuple[str, ...], ...]:
    """Return the indexes to create. Each of them saves something in addition to those before it."""
    chosen: list[tuple[str, ...]] = []
    shares_left = indexed.copy()
    waiting = list(worth)
    while waiting:
        gains = [_saved(one, shares_left, now, seconds) for one in waiting]
        best = max(gains)
        near = [one for one, gain in zip(waiting, gains, strict=True) if gain >= _AS_GOOD * best]
        pick = min(near, key=lambda one: one.index_bytes.value)
        alone = _saved(pick, indexed, now, seconds)
        if best <= 0 or gains[waiting.index(pick)] < _MORE * alone:
            waiting.remove(pick)
            continue
        chosen.append(pick.columns)
        shares_left = np.minimum(shares_left, pick.then)
        waiting.remove(pick)
    return tuple(chosen)


def _advice(
    one: TrialResult, table: str, saved: float, verdict: tuple[Verdict, str], name: str
) -> ColumnAdvice:
    now, then = one.files_now, one.files_then
    spared = max(now.value - then.value, 1e-9)
    low, high = (max(now.value - bound, 0.0) / spared for bound in (then.high, then.low))
    between = Estimate(value=saved, low=saved * low, high=saved * high)
    keys = " ".join(shlex.quote(key) for key in one.columns)
    named = "" if name == default_name(one.columns) else f" --name {shlex.quote(name)}"
    return ColumnAdvice(
        columns=one.columns,
        verdict=verdict[0],
        why=verdict[1],
        queries=one.queries,
        files_now=now,
        files_then=then,
        seconds_saved=between if saved > 0 else Estimate.exact(saved),
        index_bytes=one.index_bytes,
        build_seconds=one.build_seconds,
        refresh_seconds=one.refresh_seconds,
        payback_days=_payback(one.build_seconds, between) if saved > 0 else None,
        name=name,
        command=f"lakesieve create {shlex.quote(table)} {keys}{named}" if name else "",
    )


def _payback(build: Estimate, saved: Estimate) -> Estimate:
    """Return after how many days an index has saved its build time."""
    least = max(saved.low, 1e-9)
    return Estimate(
        value=build.value / saved.value, low=build.low / saved.high, high=build.high / least
    )
