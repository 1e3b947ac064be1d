"""Which indexes are advised, in which order, and the verdicts on the others."""

from __future__ import annotations

import numpy as np
import pytest

from lakesieve.advisor.estimate import IndexAnswers
from lakesieve.advisor.result import ColumnAdvice, Estimate, Verdict
from lakesieve.advisor.verdicts import Thresholds, TrialResult, judge

FILES, USES = 100, 10
EVERY = np.ones((USES, FILES))


def reads(*files: int, uses: range = range(USES)) -> np.ndarray:
    """Return the shares of files that uses read: some read the given share, others all."""
    shares = EVERY.copy()
    for use in uses:
        shares[use] = 0
        shares[use, : files[0]] = 1
    return shares


def column(
    name: str, then: np.ndarray, uses: range = range(USES), *, size: int = 1000, look_up: float = 0
) -> TrialResult:
    """Return an index that leaves a given share of files."""
    served = np.isin(np.arange(USES), list(uses))
    count = max(int(served.sum()), 1)
    return TrialResult(
        columns=tuple(name.split(",")),
        path=(name.split(",", maxsplit=1)[0],),
        served=served,
        found=IndexAnswers(found=then, expected=then, served=served, look_up=look_up),
        then=then,
        queries=int(served.sum()),
        files_now=Estimate.exact(float(EVERY[served].sum()) / count),
        files_then=Estimate.exact(float(then[served].sum()) / count),
        look_up=look_up,
        index_bytes=Estimate.exact(size),
        build_seconds=Estimate.exact(10.0),
        refresh_seconds=Estimate.exact(1.0),
    )


def advice(
    *measured: TrialResult,
    now: np.ndarray = EVERY,
    indexed: np.ndarray | None = None,
    existing: tuple[tuple[str, ...], ...] = (),
    **limits: float,
) -> dict[str, ColumnAdvice]:
    """Return the verdicts, in order."""
    found = judge(
        measured,
        table="lake.db.my table",
        files=FILES,
        now=now,
        indexed=now if indexed is None else indexed,
        seconds=np.full(USES, 6.0),
        existing={columns: "_".join(columns) for columns in existing},
        worth=Thresholds(**limits),
    )
    return {",".join(one.columns): one for one in found}


def test_each_advised_index_has_its_own_name() -> None:
    """If another index has the name that a key would have, the command gives one."""
    keys = ("k % 100", "k + 100", "words(m)", "lower(e)")
    ranges = [range(2), range(2, 4), range(4, 6), range(6, 8)]
    found = advice(
        *(column(key, reads(1, uses=uses), uses) for key, uses in zip(keys, ranges, strict=True)),
        existing=(("lower", "e"),),
    )
    table = "lakesieve create 'lake.db.my table'"
    commands = {one.command.removeprefix(table).strip() for one in found.values()}
    assert commands == {
        *("'k % 100'", "'k + 100' --name k_100_2", "'words(m)'"),
        "'lower(e)' --name lower_e_2",
    }
    assert {one.name for one in found.values()} == {"k_100", "k_100_2", "words_m", "lower_e_2"}


def test_the_most_saving_first() -> None:
    """What each index saves in addition to those before it decides the order."""
    some, few = range(6), range(6, 10)
    found = advice(
        column("few", reads(1, uses=few), few), column("some", reads(1, uses=some), some)
    )
    assert list(found) == ["some", "few"]
    assert {one.verdict for one in found.values()} == {Verdict.INDEX}
    assert found["some"].seconds_saved.value == pytest.approx(6 * 6 * 0.99)
    payback = found["some"].payback_days
    assert payback is not None
    assert payback.value == pytest.approx(10 / (36 * 0.99))
    assert found["some"].command == "lakesieve create 'lake.db.my table' some"


def test_of_two_alike_the_smaller() -> None:
    """Of two similar indexes, the smaller one is advised and covers the other."""
    found = advice(column("a,b", reads(1), size=9000), column("a", reads(1), size=1000))
    assert (found["a"].verdict, found["a,b"].verdict) == (Verdict.INDEX, Verdict.COVERED)
    assert "a" in found["a,b"].why
    assert found["a,b"].command == ""


def test_a_pair_that_leaves_much_less() -> None:
    """A pair that leaves far fewer files is worth its larger size."""
    found = advice(column("a,b", reads(1), size=9000), column("a", reads(40), size=1000))
    assert found["a,b"].verdict is Verdict.INDEX


@pytest.mark.parametrize(
    ("left", "now", "verdict"),
    [
        (100, 100, Verdict.IN_EVERY_FILE),
        (90, 100, Verdict.IN_EVERY_FILE),
        (5, 5, Verdict.CLUSTERED),
        (30, 33, Verdict.LITTLE_SAVED),
        (30, 90, Verdict.INDEX),
    ],
)
def test_why_not(left: int, now: int, verdict: Verdict) -> None:
    """Other verdicts: clustered already, in every file, or hardly better."""
    measured = column("a", reads(left))
    reduced = Estimate.exact(float(now))
    from dataclasses import replace

    found = advice(replace(measured, files_now=reduced), now=reads(now))
    assert found["a"].verdict is verdict
    assert (found["a"].payback_days is None) == (found["a"].seconds_saved.value <= 0)


def test_no_use_can_be_answered() -> None:
    """If queries use a column only in ways that no index can answer, the verdict says so."""
    assert advice(column("a", EVERY, range(0)))["a"].verdict is Verdict.UNANSWERED


def test_look_ups_that_cost_more() -> None:
    """An index that would be slower is not advised."""
    found = advice(column("a", reads(1), look_up=7.0))
    assert found["a"].verdict is not Verdict.INDEX
    assert found["a"].payback_days is None


def test_what_exists() -> None:
    """An existing index is reported, and what it answers needs no other index."""
    both = column("a", reads(1)), column("a,b", reads(1))
    found = advice(*both, indexed=reads(1), existing=(("a",),))
    assert found["a"].verdict is Verdict.EXISTS
    assert found["a,b"].verdict is Verdict.COVERED


def test_an_index_that_pays_too_late_is_not_advised() -> None:
    """By default it saves a second a day, and building it is paid within 30 days."""
    column_a = column("a", reads(1))
    seconds = USES * 6 * 0.99
    (worth,) = advice(column_a, max_payback=10 / seconds + 0.1).values()
    assert worth.verdict is Verdict.INDEX

    (late,) = advice(column_a, max_payback=10 / seconds - 0.1).values()
    (little,) = advice(column_a, min_saved=seconds + 1).values()

    assert {late.verdict, little.verdict} == {Verdict.LITTLE_SAVED}
    assert (late.command, little.command) == ("", "")
    assert "pays off after 0 days" in late.why


def test_existing_indexes_are_not_advised_again() -> None:
    """Neither is the first column of an index on several, nor what they leave nothing to save."""
    found = advice(
        column("a", reads(1)),
        column("b", reads(1)),
        indexed=reads(1),
        existing=(("a", "c"),),
    )
    assert found["a"].verdict is Verdict.EXISTS
    assert found["b"].verdict is Verdict.COVERED
    assert found["b"].command == ""
    assert "indexed already, by a_c" in found["a"].why
    assert found["a"].seconds_saved.value == pytest.approx(USES * 6 * 0.99)


@pytest.mark.parametrize(
    ("existing", "verdict"),
    [
        (("a", "lower(b)"), Verdict.EXISTS),
        (("a", "elements(tags)"), Verdict.INDEX),
        (("a", "b", "words(text)"), Verdict.INDEX),
        (("a",), Verdict.EXISTS),
    ],
)
def test_keys_behind_a_column(existing: tuple[str, ...], verdict: Verdict) -> None:
    """With elements behind it, an index on a column lacks some rows, so it is not such an index."""
    found = advice(column("a", reads(1)), existing=(existing,))
    assert found["a"].verdict is verdict
