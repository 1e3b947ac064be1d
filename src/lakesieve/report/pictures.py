"""The pictures of a report, as the coordinates that its template draws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.report import units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.index.overview import BudgetPoint, KeyLayout
    from lakesieve.index.result import CommitInfo

WIDTH = 768
_ROW = 6
_MAX_COMMITS = 60
_CURVE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutPicture:
    """Data files as rows, keys in their order from left to right."""

    width: int
    height: int
    spans: str  # A path of what minimum and maximum of each file say
    held: str  # A path of what the index says


@dataclass(frozen=True, slots=True, kw_only=True)
class CurvePicture:
    """What an index takes, from left to right, against files read in vain, upwards."""

    line: str  # A path through all points
    # where each lies, and what it says when it is pointed at
    points: tuple[tuple[float, float, str], ...]
    largest: tuple[str, str]  # what is at the right end, and at the top


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar of a chart."""

    label: str  # below it
    share: float  # its height, of 1
    text: str  # above it, and what it says when it is pointed at


def layout_picture(layout: KeyLayout) -> LayoutPicture:
    """Draw a layout."""
    rows, columns = layout.held.shape
    cell = WIDTH / columns
    spans = "".join(
        _stripe(row, first * cell, (last + 1) * cell)
        for row, (first, last) in enumerate(layout.spans.tolist())
        if first >= 0
    )
    held = []
    for row, cells in enumerate(layout.held):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], cells.astype(np.int8), [0]])))
        held += [
            _stripe(row, first * cell, last * cell) for first, last in edges.reshape(-1, 2).tolist()
        ]
    return LayoutPicture(width=WIDTH, height=rows * _ROW, spans=spans, held="".join(held))


def _stripe(row: int, left: float, right: float) -> str:
    return f"M{left:.4g} {row * _ROW + _ROW / 2:g}H{right:.4g}"


def curve_picture(points: Sequence[BudgetPoint], bits: float, *, of: str) -> CurvePicture | None:
    """Draw the trade-off curve of budgets. The axis of units is logarithmic.

    Args:
        points: The budgets.
        bits: Bits a row of the index as it is.
        of: What the units of the index are: files or row blocks.
    """
    if len(points) < 2 or not bits:
        return None
    most, widest = max(point.false_units for point in points), points[-1].size
    places = [
        (
            WIDTH * point.size / widest,
            _CURVE * (1 - math.log1p(point.false_units) / math.log1p(most)),
            f"{point.size * bits:.2f} bits a row, {point.false_units:.2f} {of} in vain",
        )
        for point in points
    ]
    line = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y, _ in places)
    largest = (f"{widest * bits:.1f} bits a row", f"{most:,.0f} {of} in vain")
    return CurvePicture(line=line, points=tuple(places), largest=largest)


def files_of_key_bars(layout: KeyLayout) -> list[Bar]:
    """Return bars that show how many data files hold a key.

    Each bar is the share of the sampled keys whose number of data files lies between two powers of
    two.
    """
    counts = layout.files_of_key[layout.files_of_key > 0]
    if not len(counts):
        return []
    powers = np.ceil(np.log2(counts)).astype(np.int64)
    shares = np.bincount(powers) / len(counts)
    bars = []
    for power, share in enumerate(shares.tolist()):
        low, high = (1 << power - 1) + 1 if power else 1, 1 << power
        label = f"{low:,}" if low == high else f"{low:,}–{high:,}"  # noqa: RUF001 - a range
        text = units.percent(share, 1)
        bars.append(Bar(label=label, share=share, text=text))
    return bars


def commit_bars(commits: Sequence[CommitInfo]) -> list[Bar]:
    """Return the data files that an index covered after each of its last commits."""
    last = commits[-_MAX_COMMITS:]
    most = max((commit.files for commit in last), default=0) or 1
    return [
        Bar(
            label=str(commit.number),
            share=commit.files / most,
            text=f"{commit.operation} at {commit.created_at}: {commit.files:,} files, "
            f"{commit.segments:,} segments",
        )
        for commit in last
    ]
