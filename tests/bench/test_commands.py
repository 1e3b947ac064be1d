"""The pieces of the bench of commands that need no Spark."""

from __future__ import annotations

import itertools
import re

from bench.commands.table import KEY, KINDS, ROW, table_of
from bench.measure import in_turn


def test_keys_are_distinct_and_in_no_order() -> None:
    """No two rows share a key, none overflows, and neighbours are far apart."""
    factor, prime = (int(number) for number in re.findall(r"(\d+)L", KEY))
    keys = [row * factor % prime for row in range(100_000)]
    assert len(set(keys)) == len(keys)
    assert 20_000_000 * factor < 2**63
    assert min(abs(a - b) for a, b in itertools.pairwise(keys)) > prime // 4
    assert ROW[1] == f"{KEY} AS k"


def test_every_kind_has_a_bound_and_a_name() -> None:
    """Iceberg tables stand in their own catalog, the others in Spark's."""
    assert {table_of(kind).partition(".")[0] for kind in KINDS.values()} == {
        "lake",
        "spark_catalog",
    }
    assert all(kind.faster >= 3 for kind in KINDS.values())


def test_commands_are_timed_without_a_warm_up() -> None:
    """What changes a table is done as often as it is timed."""
    done: list[str] = []
    times = in_turn({"a": lambda: done.append("a")}, rounds=2, warm_up=False)
    assert done == ["a", "a"]
    assert times["a"] >= 0
