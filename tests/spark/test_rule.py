"""The rule is in a session's optimizer exactly while something needs it."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from lakesieve.planner import Planner
from lakesieve.spark.rule.installed import InstalledRule, SessionRules
from lakesieve.storage import StorageOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

THREADS = 8
ROUNDS = 12


class _Session:
    """Java's InstalledRule and its PruningRule in one, as slow as another process is."""

    def __init__(self) -> None:
        self.present = self.active = False
        self.selected: set[str] = set()
        # how many times the optimizer refuses the rule before it takes it
        self.refusals = 0

    def rule(self) -> _Session:
        return self

    def place(self, present: bool, _others: bool) -> None:
        time.sleep(0.0002)
        if self.refusals:
            self.refusals -= 1
            raise ConnectionError("refused")
        self.present = present

    def setActive(self, active: bool) -> None:  # noqa: N802 - Java's
        time.sleep(0.0002)
        self.active = active

    def select(self, name: str, _joined: str) -> None:
        self.selected.add(name)

    def deselect(self, name: str) -> None:
        self.selected.remove(name)


_no_settings = StorageOptions(conf={})


@pytest.fixture
def session() -> Iterator[_Session]:
    """A session, with threads that take turns often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield _Session()
    sys.setswitchinterval(before)


def test_threads_leave_the_rule_as_it_was_last_wanted(session: _Session) -> None:
    """Under many threads that enable, disable and read raw, no use is lost or left behind."""
    rule = InstalledRule(session, Planner(), ())
    paths = pa.chunked_array([pa.array(["file:/a"])])

    def hammer(number: int) -> None:
        for round_ in range(ROUNDS):
            if number % 4 == 0:
                with rule.raw_reads(paths) as name:
                    assert (session.present, name in session.selected) == (True, True)
            elif number % 4 == 1:
                with rule.skipping(f"memory://{number}", _no_settings):
                    assert rule.active
            elif (number + round_) % 2:
                rule.enable((), _no_settings)
            else:
                rule.disable()

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(hammer, range(THREADS)))
    for wanted in (True, False):
        rule.enable((), _no_settings) if wanted else rule.disable()
        with rule.raw_reads():
            assert (session.present, session.active) == (True, wanted)
        assert (session.present, session.active) == (wanted, wanted)

    assert (rule.planner.locations, session.selected) == ((), set())


def test_commands_do_not_switch_each_other(session: _Session) -> None:
    """A finished command does not turn skipping off for others, nor leave it on at the end."""
    rule = InstalledRule(session, Planner(), ())
    first = rule.skipping("memory://a", _no_settings)
    second = rule.skipping("memory://a", _no_settings)

    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    rule.disable()
    assert (session.active, rule.planner.locations) == (True, ("memory://a",))
    second.__exit__(None, None, None)
    assert (session.active, session.present, rule.planner.locations) == (False, False, ())


def test_what_fails_leaves_no_use_behind(session: _Session) -> None:
    """After a failure to install the rule, the next use works and cleans up."""
    session.refusals = 1
    rule = InstalledRule(session, Planner(), ())
    with pytest.raises(ConnectionError, match="refused"), rule.raw_reads():
        raise AssertionError("unreachable")
    with rule.raw_reads():
        assert session.present
    assert not session.present


def test_sessions_have_a_rule_each_in_one_application(spark: SparkSession) -> None:
    """Two sessions have one rule each, and rules of stopped sessions are dropped."""
    rules = SessionRules(
        rules={("application-of-yesterday", "1"): InstalledRule(_Session(), Planner(), ())}
    )
    sessions = [spark.newSession(), spark.newSession()]

    def hammer(number: int) -> None:
        rule = rules.of(sessions[number % 2])
        for _ in range(3):
            rule.enable((), _no_settings)
            rule.disable()
        rule.enable((), _no_settings)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(hammer, range(4)))

    for one in sessions:
        # the rule waits for the first plan
        one.range(1).collect()
    jvm_sessions = [one._jsparkSession for one in sessions]
    assert [one.experimental().extraOptimizations().size() for one in jvm_sessions] == [1, 1]
    assert len(rules.rules) == 2
    assert {key[0] for key in rules.rules} == {spark.sparkContext.applicationId}


def test_sessions_that_skip_nothing_leave_little_behind(spark: SparkSession) -> None:
    """Only sessions that skip files keep their rules."""
    rules = SessionRules(most_idle=2)
    skipping = [spark.newSession() for _ in range(2)]
    for session in skipping:
        rules.of(session).enable((), _no_settings)
    kept = [rules.of(session) for session in skipping]
    for _ in range(6):
        rules.of(spark.newSession())

    assert len(rules.rules) <= 2 + 2 + 1
    assert [rules.of(session) for session in skipping] == kept
