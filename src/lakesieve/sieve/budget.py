"""The budgeted mode: blocks made coarser until they fit into so many bytes or false units.

Three ways are tried and the best one is taken. *Neighbours*: the adjacent blocks whose union costs
the fewest false units for a bit saved are merged first, which wins where runs are of unequal worth.
*Even*: blocks of the same number of keys. *Grid*: blocks of the same width, as the Sieve index
(Tong et al., PVLDB 16(11), 2023) cuts them; their separators cost next to nothing. The last two win
where keys are scattered and every merge is as good as the next.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.sieve.build import build_blocks, build_runs
from lakesieve.sieve.separators import ABSENT_HITS, short_separators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lakesieve.sieve.blocks import Blocks

__all__ = ["Budget", "TradeOff", "build_budgeted", "false_units", "trade_offs"]

_TEXT = re.compile(r"\s*(\d+(?:\.\d+)?|\.\d+)\s*(bits?|files?)\s*")

# bits a separator takes, about
_KEY_BITS = 4
# share of the pairs of neighbours that one round may merge
_BEST = 0.5
# how much fewer blocks are worth a look
_STEP = 0.85
# how full a budget of bytes must be
_FULL = 0.9995
_TRIES = 20
_ALL_BITS = 62


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """What an index may cost, or how wrong it may be; one of the two.

    Args:
        bits_per_row: Bits a row of the table.
        false_files: Data files that a point look-up of a present key reads for nothing, on average.

    Raises:
        InvalidInputError: Neither or both are given, or one is not above 0.
    """

    bits_per_row: float | None = None
    false_files: float | None = None

    def __post_init__(self) -> None:
        given = [v for v in (self.bits_per_row, self.false_files) if v is not None]
        if len(given) != 1 or not 0 < given[0] < float("inf"):
            raise _bad_budget(f"bits_per_row={self.bits_per_row}, false_files={self.false_files}")

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Read ``"2 bits"`` (a row) or ``"1.5 files"`` (read for nothing by a point query).

        Raises:
            InvalidInputError: It is neither.
        """
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
        f"{text!r} is no budget.",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint="Write '2 bits' for a size in bits a row, or '1.5 files' for files read in vain.",
    )


class TradeOff(NamedTuple):
    """One point of the curve of bytes against false units.

    Args:
        way: ``exact``, ``neighbours``, ``even`` or ``grid``.
        blocks: The blocks.
        size: Bytes, measured.
        false_units: Units that a look-up of a present key finds in vain, on average.
    """

    way: str
    blocks: Blocks
    size: int
    false_units: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Coarse:
    """Runs in groups.

    Args:
        first: First run of each group.
        weights: Distinct keys of each group.
        pairs: Group times units plus unit, ascending: the unions.
        cells: Where separators had better lie, if they can: the cell of each group's first run.
    """

    first: np.ndarray
    weights: np.ndarray
    pairs: np.ndarray
    cells: np.ndarray | None = None


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

    Args:
        keys: As for :func:`build_blocks`.
        ordinals: The unit of each pair.
        unit_count: Units that the ordinals count.
        measure: Bytes that blocks take when they are stored.
        size: Most bytes; the coarsest blocks are taken where even those are larger.
        false: Else: most units that a present key may find in vain, on average.
        absent_hits: As for :func:`build_blocks`, for exact blocks that fit; the others tell nothing
            of absent keys.

    Returns:
        Exact blocks where they fit, else the fewest false units or the fewest bytes.
    """
    if size is not None:
        exact = build_blocks(keys, ordinals, absent_hits=absent_hits)
        if measure(exact) <= size:
            return exact
    ladder = _Ladder(keys, ordinals, unit_count, measure)
    if size is not None:
        if ladder.exact.size <= size:
            return ladder.exact.blocks
        found = [ladder.neighbours_within(size)]
        found += [ladder.way_within(way, size) for way in ladder.ways]
        return min(found, key=lambda point: (point.size > size, point.false_units)).blocks
    limit = 0.0 if false is None else false
    found = [ladder.exact, *ladder.with_false(limit)]
    return min(found, key=lambda point: point.size).blocks


def trade_offs(
    keys: pa.Array, ordinals: np.ndarray, *, unit_count: int, measure: Callable[[Blocks], int]
) -> list[TradeOff]:
    """The curve of bytes against false units: exact blocks, then each way, finest groups first."""
    ladder = _Ladder(keys, ordinals, unit_count, measure)
    points = [ladder.exact]
    points += [ladder.point("neighbours", state) for state in ladder.steps(_STEP / 2)]
    for way in ladder.ways:
        groups = ladder.keys // 2
        while groups >= 1:
            points.append(ladder.point(way, ladder.divided(way, groups)))
            groups //= 2
    return points


def false_units(blocks: Blocks, weights: np.ndarray) -> float:
    """Units that a present key finds in vain, on average.

    Args:
        blocks: The blocks.
        weights: Distinct keys of each.
    """
    found = float((np.diff(blocks.offsets) * weights).sum())
    return (found - blocks.pair_count) / blocks.key_count


class _Ladder:
    """Coarser and coarser forms of the runs of some pairs."""

    def __init__(
        self,
        keys: pa.Array,
        ordinals: np.ndarray,
        unit_count: int,
        measure: Callable[[Blocks], int],
    ) -> None:
        self._runs, self._codes, self._first = build_runs(keys, ordinals, absent_hits=1)
        first = self._first
        self._units = unit_count
        self._measure = measure
        self.keys = self._runs.key_count
        weights = np.diff(first, append=self.keys)
        rows = np.repeat(np.arange(len(first)), np.diff(self._runs.offsets))
        self._finest = _Coarse(
            first=np.arange(len(first)),
            weights=weights,
            pairs=rows * unit_count + self._runs.ordinals,
        )
        # bits of a set by its size: of all sets of that size any may be it
        sizes = np.arange(unit_count, dtype=np.float64)
        self._set_bits = np.append(0, np.cumsum(np.log2((unit_count - sizes) / (sizes + 1))))
        self.ways = ("even",) if self._codes.type == pa.binary() else ("even", "grid")
        self.exact = self.point("exact", self._finest)

    def point(self, way: str, state: _Coarse) -> TradeOff:
        """Measure one form."""
        sizes = np.bincount(state.pairs // self._units, minlength=len(state.first))
        blocks = replace(
            self._runs,
            keys=self._separators(state),
            offsets=np.append(0, np.cumsum(sizes)),
            ordinals=(state.pairs % self._units).astype(np.int32),
        )
        return TradeOff(way, blocks, self._measure(blocks), false_units(blocks, state.weights))

    def _separators(self, state: _Coarse) -> pa.Array:
        if self._codes.type == pa.binary():
            return self._runs.keys.take(pa.array(state.first))
        codes = self._codes.to_numpy()
        first = self._first[state.first]
        short = short_separators(codes, first, _ALL_BITS)
        if state.cells is None:
            return pa.array(short)
        # a cell may begin among the keys of the group before
        fits = np.append(True, codes[first[1:] - 1] < state.cells[1:])
        return pa.array(np.where(fits, state.cells, short))

    def divided(self, way: str, groups: float) -> _Coarse:
        """At most about so many groups, of equal numbers of keys or of equal width."""
        if way == "even":
            before = np.cumsum(self._finest.weights) - self._finest.weights
            group = (before * (groups / self.keys)).astype(np.int64)
            return self._grouped(self._finest, np.append(True, group[1:] != group[:-1]))
        codes = self._codes.to_numpy()
        low = int(codes[0])
        width = min(2**64 - 1, max(1, int((int(codes[-1]) - low + 1) / groups)))
        distance = codes[self._first].view(np.uint64) - np.uint64(low % 2**64)
        cell = distance // np.uint64(width)
        starts = np.append(True, cell[1:] != cell[:-1])
        begins = cell[starts] * np.uint64(width) + np.uint64(low % 2**64)
        return replace(self._grouped(self._finest, starts), cells=begins.view(np.int64))

    def way_within(self, way: str, size: float) -> TradeOff:
        """The most groups that take at most so many bytes."""
        low, high = 1.0, float(self.keys)
        best = self.point(way, self.divided(way, low))
        for _ in range(_TRIES):
            if best.size >= _FULL * size:
                break
            groups = (low * high) ** 0.5
            point = self.point(way, self.divided(way, groups))
            if point.size <= size:
                low, best = groups, point
            else:
                high = groups
        return best

    def neighbours_within(self, size: float) -> TradeOff:
        """The first of ever coarser groups of neighbours that take at most so many bytes."""
        ratio = 1.0
        point = self.exact
        for state in self.steps(_STEP):
            if self._estimate(state) * ratio > 1.1 * size:
                continue
            point = self.point("neighbours", state)
            ratio = point.size / max(self._estimate(state), 1)
            if point.size <= size:
                break
        return point

    def with_false(self, limit: float) -> list[TradeOff]:
        """The coarsest groups of each way that find no more units in vain."""
        last = self._finest
        for state in self.steps(_STEP):
            if self._false(state) > limit:
                break
            last = state
        points = [self.point("neighbours", last)]
        for way in self.ways:
            low, high = 1.0, float(self.keys)
            for _ in range(_TRIES):
                groups = (low * high) ** 0.5
                if self._false(self.divided(way, groups)) <= limit:
                    high = groups
                else:
                    low = groups
            state = self.divided(way, high)
            if self._false(state) <= limit:
                points.append(self.point(way, state))
        return points

    def steps(self, step: float) -> Iterator[_Coarse]:
        """Groups of neighbours, each time at most ``step`` times as many."""
        state = self._finest
        told = len(state.first)
        while len(state.first) > 1:
            state = self._round(state)
            if len(state.first) <= step * told:
                told = len(state.first)
                yield state

    def _round(self, state: _Coarse) -> _Coarse:
        """Merge the neighbours that cost the fewest false units for a bit saved."""
        rows = state.pairs // self._units
        sizes = np.bincount(rows, minlength=len(state.first))
        # a unit is common where it comes again one group on
        again = np.searchsorted(state.pairs, state.pairs + self._units)
        again[again == len(state.pairs)] = 0
        common = np.bincount(
            rows[state.pairs[again] == state.pairs + self._units], minlength=len(sizes)
        )[:-1]
        union = sizes[:-1] + sizes[1:] - common
        bits = self._set_bits
        saved = _KEY_BITS + bits[sizes[:-1]] + bits[sizes[1:]] - bits[union]
        weights = state.weights
        false = weights[:-1] * (union - sizes[:-1]) + weights[1:] * (union - sizes[1:])
        price = np.where(saved > 0, false / np.maximum(saved, 1e-9), np.inf)
        # where nothing saves a bit any more, the cheapest merge goes on all the same
        price = np.where(np.isinf(price), 1e9 * (1.0 + false), price)
        # among equals every other pair should do, not the first alone
        price *= 1 + 1e-6 * np.random.default_rng(len(price)).random(len(price))
        chosen = price <= np.quantile(price, _BEST)
        chosen[1:] &= price[1:] < price[:-1]
        chosen[:-1] &= price[:-1] <= price[1:]
        if not chosen.any():
            chosen[int(np.argmin(price))] = True
        return self._grouped(state, np.append(True, ~chosen))

    def _grouped(self, state: _Coarse, starts: np.ndarray) -> _Coarse:
        """Unite each group with those before it up to the next start."""
        group = np.cumsum(starts) - 1
        pairs = group[state.pairs // self._units] * self._units + state.pairs % self._units
        pairs.sort()
        fresh = np.append(True, pairs[1:] != pairs[:-1])
        return _Coarse(
            first=state.first[starts],
            weights=np.add.reduceat(state.weights, np.flatnonzero(starts)),
            pairs=pairs[fresh],
        )

    def _false(self, state: _Coarse) -> float:
        sizes = np.bincount(state.pairs // self._units, minlength=len(state.first))
        return float((sizes * state.weights).sum() - self._runs.pair_count) / self.keys

    def _estimate(self, state: _Coarse) -> float:
        """Bytes, guessed."""
        sizes = np.bincount(state.pairs // self._units, minlength=len(state.first))
        return float(self._set_bits[sizes].sum() + _KEY_BITS * len(sizes)) / 8
