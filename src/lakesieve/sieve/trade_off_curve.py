"""The trade-off curve of a budget: ever coarser forms of exact blocks, and the cost of each."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from lakesieve.sieve.build import build_runs
from lakesieve.sieve.separators import short_separators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lakesieve.sieve.blocks import Blocks

STEP = 0.85
"""Factor by which the number of blocks shrinks from one point of the curve to the next."""

# approximate bits of a separator
_KEY_BITS = 4
# share of the neighbouring pairs that one round may merge
_BEST = 0.5
# a result counts as filling a budget of bytes from this share on
_FULL = 0.9995
_TRIES = 20
_MIXTURES = 8
_ALL_BITS = 62


class TradeOff(NamedTuple):
    """One point of the curve of bytes against false units.

    Args:
        strategy: ``exact``, ``neighbours``, ``even``, ``grid`` or ``mixed``.
        blocks: The blocks.
        size: Measured bytes.
        false_units: False units of a look-up of a present key, on average.
    """

    strategy: str
    blocks: Blocks
    size: int
    false_units: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Coarse:
    """Runs united in groups.

    Args:
        pairs: The unions, as group number times units plus unit, ascending.
        cells: For each group, the grid cell of its first run. Separators are placed at the start of
            the cell if no key is in the way.
    """

    first: np.ndarray
    weights: np.ndarray
    pairs: np.ndarray
    cells: np.ndarray | None = None


class _Tried(NamedTuple):
    """The facts about a measured form from which the form can be made again."""

    size: int
    false_units: float
    first: np.ndarray
    cells: np.ndarray | None


def false_units(blocks: Blocks, weights: np.ndarray) -> float:
    """Return the average number of false units of a present key."""
    units_found = float((np.diff(blocks.offsets) * weights).sum())
    return (units_found - blocks.pair_count) / blocks.key_count


class TradeOffCurve:
    """Computes ever coarser forms of the runs of some pairs."""

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
        # bits of a set by its size, if all sets of this size are equally likely
        sizes = np.arange(unit_count, dtype=np.float64)
        self._set_bits = np.append(0, np.cumsum(np.log2((unit_count - sizes) / (sizes + 1))))
        self.strategies = ("even",) if self._codes.type == pa.binary() else ("even", "grid")
        self._tried: list[_Tried] = []
        self.exact = self.point("exact", self._finest)

    def point(self, strategy: str, state: _Coarse) -> TradeOff:
        """Measure the bytes and false units of one form."""
        sizes = np.bincount(state.pairs // self._units, minlength=len(state.first))
        blocks = replace(
            self._runs,
            keys=self._separators(state),
            offsets=np.append(0, np.cumsum(sizes)),
            ordinals=(state.pairs % self._units).astype(np.int32),
        )
        false = false_units(blocks, state.weights)
        trade_off = TradeOff(strategy, blocks, self._measure(blocks), false)
        self._tried.append(_Tried(trade_off.size, trade_off.false_units, state.first, state.cells))
        return trade_off

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

    def divided(self, strategy: str, groups: float) -> _Coarse:
        """Return about ``groups`` groups or fewer, of equal numbers of keys or of equal width."""
        if strategy == "even":
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

    def coarsest_within(self, strategy: str, size: float) -> TradeOff:
        """Return the largest number of groups that takes at most ``size`` bytes."""
        low, high = 1.0, float(self.keys)
        best = self.point(strategy, self.divided(strategy, low))
        for _ in range(_TRIES):
            if best.size >= _FULL * size:
                break
            groups = (low * high) ** 0.5
            point = self.point(strategy, self.divided(strategy, groups))
            if point.size <= size:
                low, best = groups, point
            else:
                high = groups
        return best

    def neighbours_within(self, size: float) -> TradeOff:
        """Merge neighbours until the groups take at most ``size`` bytes."""
        ratio = 1.0
        point = self.exact
        for state in self.steps(STEP):
            if self._estimate(state) * ratio > 1.1 * size:
                continue
            point = self.point("neighbours", state)
            ratio = point.size / max(self._estimate(state), 1)
            if point.size <= size:
                break
        return point

    def mixed_within(self, size: float) -> TradeOff | None:
        """Combine finer groups up to some key with coarser groups after it, from measured forms.

        So every point on a straight line between two measured points of the curve can be reached,
        too.

        Returns:
            The best mixture, or ``None`` if no measured form is finer or none fits.
        """
        fine = [tried for tried in self._tried if tried.size > size]
        coarse = [tried for tried in self._tried if tried.size <= size]
        if not fine or not coarse:
            return None

        def expected(pair: tuple[_Tried, _Tried]) -> float:
            above, below = pair
            share = (size - below.size) / (above.size - below.size)
            return below.false_units + (above.false_units - below.false_units) * share

        finer, coarser = min(itertools.product(fine, coarse), key=expected)
        low, high, best = (0.0, coarser.size), (1.0, finer.size), None
        for _ in range(_MIXTURES):
            share = low[0] + (high[0] - low[0]) * (size - low[1]) / (high[1] - low[1])
            point = self.point("mixed", self._mixed(finer, coarser, share))
            if point.size > size:
                high = (share, point.size)
                continue
            low, best = (share, point.size), point
            if point.size >= _FULL * size:
                break
        return best

    def _mixed(self, finer: _Tried, coarser: _Tried, share: float) -> _Coarse:
        split = round(share * (len(self._first) - 1))
        begun, going = finer.first < split, coarser.first > split
        starts = np.zeros(len(self._first), bool)
        starts[finer.first[begun]] = starts[coarser.first[going]] = starts[[0, split]] = True
        mixed = self._grouped(self._finest, starts)
        if finer.cells is None and coarser.cells is None:
            return mixed
        cells = short_separators(self._codes.to_numpy(), self._first[mixed.first], _ALL_BITS)
        if finer.cells is not None:
            cells[: np.count_nonzero(begun)] = finer.cells[begun]
        if coarser.cells is not None:
            cells[len(cells) - np.count_nonzero(going) :] = coarser.cells[going]
        return replace(mixed, cells=cells)

    def with_false(self, limit: float) -> list[TradeOff]:
        """Return, for each strategy, the coarsest groups with at most ``limit`` false units."""
        last = self._finest
        for state in self.steps(STEP):
            if self._false(state) > limit:
                break
            last = state
        points = [self.point("neighbours", last)]
        for strategy in self.strategies:
            low, high = 1.0, float(self.keys)
            for _ in range(_TRIES):
                groups = (low * high) ** 0.5
                if self._false(self.divided(strategy, groups)) <= limit:
                    high = groups
                else:
                    low = groups
            state = self.divided(strategy, high)
            if self._false(state) <= limit:
                points.append(self.point(strategy, state))
        return points

    def steps(self, step: float) -> Iterator[_Coarse]:
        """Yield groups of neighbours, each time at most ``step`` times as many as before."""
        state = self._finest
        blocks = len(state.first)
        while len(state.first) > 1:
            state = self._round(state)
            if len(state.first) <= step * blocks:
                blocks = len(state.first)
                yield state

    def _round(self, state: _Coarse) -> _Coarse:
        """Merge the neighbours that cost the fewest false units for each bit saved."""
        rows = state.pairs // self._units
        sizes = np.bincount(rows, minlength=len(state.first))
        # a unit is in both neighbours if it occurs again one group later
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
        # if no merge saves a bit any more, the cheapest merge still goes on
        price = np.where(np.isinf(price), 1e9 * (1.0 + false), price)
        # among equal prices, noise spreads the merges over all pairs instead of the first ones
        price *= 1 + 1e-6 * np.random.default_rng(len(price)).random(len(price))
        chosen = price <= np.quantile(price, _BEST)
        chosen[1:] &= price[1:] < price[:-1]
        chosen[:-1] &= price[:-1] <= price[1:]
        if not chosen.any():
            chosen[int(np.argmin(price))] = True
        return self._grouped(state, np.append(True, ~chosen))

    def _grouped(self, state: _Coarse, starts: np.ndarray) -> _Coarse:
        """Unite each group with the groups before it up to the next start."""
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
        """Return an estimate of the bytes."""
        sizes = np.bincount(state.pairs // self._units, minlength=len(state.first))
        return float(self._set_bits[sizes].sum() + _KEY_BITS * len(sizes)) / 8
