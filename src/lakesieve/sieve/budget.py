"""The budgeted mode: make blocks coarser until they fit a budget of bytes or false units.

Several strategies are tried, and the best result wins. *Neighbours* first merges the adjacent
blocks whose union costs the fewest false units for each bit saved. It is best if runs differ in
cost. *Even* makes blocks with the same number of keys. *Grid* makes blocks of the same width, like
the Sieve index (Tong et al., PVLDB 16(11), 2023). Its separators take almost no space. *Even* and
*grid* are best if keys are scattered and all merges cost about the same. *Mixed* takes the finer of
two results up to some key and the coarser one after it. So some point lies close to every budget.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.defaults import ABSENT_HITS
from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.sieve.build import build_blocks
from lakesieve.sieve.trade_off_curve import STEP, TradeOff, TradeOffCurve

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    import pyarrow as pa

    from lakesieve.sieve.blocks import Blocks

_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(bits?|files?)\s*")


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """The limit of an index: either its size or its number of false files.

    A false file is one that a look-up returns although the key is not in it.

    Args:
        bits_per_row: Most bits for each row of the table.
        false_files: Most false files of a look-up of a present key, on average.
    """

    bits_per_row: float | None = None
    false_files: float | None = None

    def __post_init__(self) -> None:
        limits = [v for v in (self.bits_per_row, self.false_files) if v is not None]
        if len(limits) != 1 or not 0 < limits[0] < float("inf"):
            raise _bad_budget(f"bits_per_row={self.bits_per_row}, false_files={self.false_files}")

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Parse ``"2 bits"`` (a row) or ``"1.5 files"`` (false files of a look-up)."""
        match = _TEXT.fullmatch(text)
        if match is None:
            raise _bad_budget(text)
        amount = float(match.group(1))
        if match.group(2).startswith("bit"):
            return cls(bits_per_row=amount)
        return cls(false_files=amount)

    def __str__(self) -> str:
        if self.bits_per_row is not None:
            return f"{self.bits_per_row:g} bits"
        return f"{self.false_files:g} files"


def _bad_budget(text: str) -> InvalidInputError:
    return InvalidInputError(
        f"{text!r} is not a budget.",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint="Write '2 bits' for a size in bits a row, or '1.5 files' for false files a look-up.",
    )


def build_budgeted(
    keys: pa.Array,
    ordinals: np.ndarray,
    *,
    unit_count: int,
    measure: Callable[[Blocks], int],
    size: float | None = None,
    false: float | None = None,
    absent_hits: float = ABSENT_HITS,
) -> Blocks:
    """Cut sorted distinct pairs into the best blocks that a budget allows.

    ``size`` is the budget in bytes. If even the coarsest blocks exceed it, they are returned.
    Without ``size``, ``false`` is the highest average number of false units of a present key.
    ``absent_hits`` has its meaning from :func:`build_blocks` and applies if exact blocks fit;
    coarser blocks say nothing about absent keys.

    Returns:
        Exact blocks if they fit. Otherwise the blocks with the fewest false units for a budget of
        bytes, or with the fewest bytes for a budget of false units.
    """
    if size is not None:
        exact = build_blocks(keys, ordinals, absent_hits=absent_hits)
        if measure(exact) <= size:
            return exact
    curve = TradeOffCurve(keys, ordinals, unit_count, measure)
    if size is not None:
        if curve.exact.size <= size:
            return curve.exact.blocks
        points = [curve.neighbours_within(size)]
        points += [curve.coarsest_within(strategy, size) for strategy in curve.strategies]
        mixed = curve.mixed_within(size)
        points += [] if mixed is None else [mixed]
        return min(points, key=lambda point: (point.size > size, point.false_units)).blocks
    limit = 0.0 if false is None else false
    points = [curve.exact, *curve.with_false(limit)]
    return min(points, key=lambda point: point.size).blocks


def trade_offs(
    keys: pa.Array, ordinals: np.ndarray, *, unit_count: int, measure: Callable[[Blocks], int]
) -> list[TradeOff]:
    """Return the curve of bytes against false units: exact blocks, then each strategy by size."""
    curve = TradeOffCurve(keys, ordinals, unit_count, measure)
    points = [curve.exact]
    points += [curve.point("neighbours", state) for state in curve.steps(STEP / 2)]
    for strategy in curve.strategies:
        groups = curve.keys // 2
        while groups >= 1:
            points.append(curve.point(strategy, curve.divided(strategy, groups)))
            groups //= 2
    return points
