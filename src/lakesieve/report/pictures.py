"""The pictures of a report, as the coordinates that its template draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lakesieve.report import units

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.index.layout import KeyLayout
    from lakesieve.index.result import CommitInfo

__all__ = ["Bar", "LayoutPicture", "commit_bars", "files_of_key_bars", "layout_picture"]

WIDTH = 768
_ROW = 6
_MAX_COMMITS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class LayoutPicture:
    """Data files as rows, keys in their order from left to right.

    Args:
        width: In pixels.
        height: In pixels.
        spans: A path of what minimum and maximum of each file say.
        held: A path of what the index says.
    """

    width: int
    height: int
    spans: str
    held: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One bar of a chart.

    Args:
        label: Below it.
        share: Its height, of 1.
        text: Above it, and what it says when it is pointed at.
    """

    label: str
    share: float
    text: str


def layout_picture(layout: KeyLayout) -> LayoutPicture:
    """Draw a layout.

    Args:
        layout: How the keys lie.
    """
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


def files_of_key_bars(layout: KeyLayout) -> list[Bar]:
    """How many data files hold a key: shares of the sampled keys, by powers of two.

    Args:
        layout: How the keys lie.
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
    """Data files that an index covered after each of its last commits.

    Args:
        commits: Oldest first.
    """
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
