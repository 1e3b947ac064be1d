from __future__ import annotations

import pytest

from lakesieve.report import units


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_960, "1.0 MB"), (14_100_000, "14.1 MB")],
)
def test_sizes(number: int, text: str) -> None:
    """Bytes are written in the largest decimal unit that leaves at most three digits."""
    assert units.size(number) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0004, "0 ms"),
        (0.9996, "1.00 s"),
        (2.311, "2.31 s"),
        (59.996, "1 min 0 s"),
        (84, "1 min 24 s"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    """Times go from milliseconds to minutes without a gap at the borders."""
    assert units.duration(seconds) == text


@pytest.mark.parametrize(
    ("share", "whole", "text"), [(1, 0, "-"), (1, 16, "6.2 %"), (1, 2, "50 %")]
)
def test_percentages(share: float, whole: float, text: str) -> None:
    """A part of nothing is a dash, small parts get a digit more."""
    assert units.percent(share, whole) == text


def test_plurals() -> None:
    """One thing is singular, no thing and many things are plural."""
    assert [units.plural(n, "file") for n in (0, 1, 2000)] == ["0 files", "1 file", "2,000 files"]
