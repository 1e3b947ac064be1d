"""The budgeted mode: blocks made coarser until they fit into a budget of bytes or false units.

Several strategies are tried and the best one is taken. *Neighbours*: the adjacent blocks whose
union costs the fewest false units for each bit saved are merged first, which is best if runs differ
in cost. *Even*: blocks with the same number of keys. *Grid*: blocks of the same width, as the Sieve
index (Tong et al., PVLDB 16(11), 2023) cuts them; their separators take almost no space. The last
two are best if keys are scattered and all merges cost about the same. *Mixed*: the finer of two of
these up to a key and the coarser one behind it, so that there is a point close to every budget.
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
    """What an index may cost, or how wrong it may be; one of the two.

    Args:
        bits_per_row: Bits a row of the table.
        false_files: False files of a point look-up of a present key, on average.
    """

    bits_per_row: float | None = None
    false_files: float | None = None

    def __post_init__(self) -> None:
        given = [v for v in (self.bits_per_row, self.false_files) if v is not None]
        if len(given) != 1 or not 0 < given[0] < float("inf"):
            raise _bad_budget(f"bits_per_row={self.bits_per_row}, false_files={self.false_files}")

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read ``"2 bits"`` (a row) or ``"1.5 files"`` (false files of a point query)."""
        found = _TEXT.fullmatch(text)
        if found is None:
            raise _bad_budget(text)
        amount = float(found.group(1))
        if found.group(2).startswith("bit"):
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

    Where even the coarsest blocks take more than ``size`` bytes, they are taken. Otherwise
    ``false`` is the most false units of a present key, on average. ``absent_hits`` is as for
    :func:`build_blocks`, for exact blocks that fit; the others tell nothing of absent keys.

    Returns:
        Exact blocks where they fit, else the fewest false units or the fewest bytes.
    """
    if size is not None:
        exact = build_blocks(keys, ordinals, absent_hits=absent_hits)
        if measure(exact) <= size:
            return exact
    curve = TradeOffCurve(keys, ordinals, unit_count, measure)
    if size is not None:
        if curve.exact.size <= size:
            return curve.exact.blocks
        found = [curve.neighbours_within(size)]
        found += [curve.coarsest_within(strategy, size) for strategy in curve.strategies]
        mixed = curve.mixed_within(size)
        found += [] if mixed is None else [mixed]
        return min(found, key=lambda point: (point.size > size, point.false_units)).blocks
    limit = 0.0 if false is None else false
    found = [curve.exact, *curve.with_false(limit)]
    return min(found, key=lambda point: point.size).blocks


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
