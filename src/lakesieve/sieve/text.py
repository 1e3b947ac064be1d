"""Text codes: encode byte strings as integers, by the bytes that occur at each position."""

from __future__ import annotations

import bisect
import itertools
import math
import operator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve.byte_order import (
    CODE_LIMIT,
    END,
    POSITIONS,
    SYMBOLS,
    binary_array,
    byte_views,
    cached_slices,
    position_codes,
    prefixes,
    shared_prefix,
    symbols_at,
)
from lakesieve.sieve.shared_prefixes import SharedPrefixes

if TYPE_CHECKING:
    from collections.abc import Sequence

_SAMPLE = 1000
_FEW = 32


@dataclass(frozen=True)
class TextCode:
    """An order-preserving map from byte strings to integers from 0 to 2**63 - 1.

    First, the prefix that all keys share is removed. Then the symbols at each position (bytes, or
    the end of a string) become the digits of a mixed-radix number. Hex text costs 4 bits a
    character, decimal digits 3.3. A string that does not fit is rounded down to the code below it.
    The number has at most 63 bits, so strings that differ only after these bits share a code.
    Hierarchical strings, such as URLs, begin with one of a list of shared prefixes instead. The
    number of the prefix is then the first digit.

    Args:
        prefix: The beginning of all keys; empty if there are shared prefixes.
        alphabets: For each position after the prefix the symbols, ascending: 0 for the end, or a
            byte plus 1.
        shared_prefixes: The prefixes of hierarchical keys.
    """

    prefix: bytes
    alphabets: tuple[tuple[int, ...], ...]
    shared_prefixes: SharedPrefixes | None = None

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Value of one step of each digit."""
        weights: list[int] = []
        weight = 1
        for alphabet in reversed(self.alphabets):
            weights.append(weight)
            weight *= len(alphabet)
        return tuple(reversed(weights))

    @property
    def size(self) -> int:
        """Number of codes."""
        return self._tails * (
            1 if self.shared_prefixes is None else len(self.shared_prefixes.texts)
        )

    @cached_property
    def _tails(self) -> int:
        """Number of codes after one prefix."""
        return math.prod(map(len, self.alphabets))

    @property
    def is_valid(self) -> bool:
        """True if codes fit into 63 bits and every alphabet ascends. Stored codes are checked."""
        if self.shared_prefixes is not None and (self.prefix or not self.shared_prefixes.is_valid):
            return False
        size = 1 if self.shared_prefixes is None else len(self.shared_prefixes.texts)
        for alphabet in self.alphabets:
            ascending = all(a < b for a, b in itertools.pairwise(alphabet))
            if not alphabet or not ascending or not 0 <= alphabet[0] <= alphabet[-1] < SYMBOLS:
                return False
            size *= len(alphabet)
        # nothing can follow an end that is the only symbol of its position
        return (
            size < CODE_LIMIT
            and len(self.alphabets) <= POSITIONS
            and (END,) not in self.alphabets[:-1]
        )

    @classmethod
    def fit(cls, strings: pa.Array) -> tuple[TextCode, np.ndarray] | None:
        """Find a code that gives strictly ascending strings strictly ascending codes.

        Returns:
            The code and the codes of the strings, or ``None`` if 63 bits cannot tell them apart.
        """
        # a sample with some neighbours shows cheaply that no code without prefixes can do it
        count = len(strings)
        if count > 8 * _SAMPLE:
            few = np.arange(0, count, count // _SAMPLE)
            few = np.union1d(few, np.arange(_SAMPLE) + count // 2)
            _, codes, _ = cls._plain(strings.take(pa.array(few)))
            if not (codes[1:] > codes[:-1]).all():
                return cls._with_shared_prefixes(strings)
        text, codes, _ = cls.of(strings)
        return (text, codes) if (codes[1:] > codes[:-1]).all() else None

    @classmethod
    def of(cls, strings: pa.Array) -> tuple[TextCode, np.ndarray, bool]:
        """Find a code for strings in any order that tells as many apart as 63 bits can.

        Returns:
            The code, the codes of the strings, and whether equal codes mean equal strings.
        """
        few = strings.take(pa.array(np.arange(0, len(strings), max(1, len(strings) // _SAMPLE))))
        if not cls._plain(few)[2]:
            with_prefixes = cls._with_shared_prefixes(strings)
            if with_prefixes is not None:
                return *with_prefixes, True
        return cls._plain(strings)

    @classmethod
    def _plain(cls, strings: pa.Array) -> tuple[TextCode, np.ndarray, bool]:
        """Find a code as :meth:`of` does, without shared prefixes."""
        prefix = shared_prefix(strings)
        data, starts, lengths = byte_views(strings)
        codes, alphabets, whole = position_codes(data, starts + len(prefix), lengths - len(prefix))
        return cls(prefix, alphabets), codes, whole

    @classmethod
    def _with_shared_prefixes(cls, strings: pa.Array) -> tuple[TextCode, np.ndarray] | None:
        """Return a code with shared prefixes that tells the strings apart, or ``None``."""
        fitted = SharedPrefixes.fit(strings)
        if fitted is None:
            return None
        shared_prefixes, indices, skipped = fitted
        data, starts, lengths = byte_views(strings)
        codes, alphabets, whole = position_codes(data, starts + skipped, lengths - skipped)
        text = cls(b"", alphabets, shared_prefixes)
        if not whole or text.size >= CODE_LIMIT:
            return None
        codes += indices * text._tails
        return text, codes

    def encode(self, strings: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Encode any strings.

        Returns:
            For each string, the greatest code that is not above it (int64, -1 if there is none);
            whether all its symbols are known, as only such strings can be keys; and whether its
            code is unique, so that no greater string shares it.
        """
        data, starts, lengths = byte_views(strings)
        codes, active, skipped = self._behind_prefix(strings)
        starts, lengths = starts + skipped, lengths - skipped
        is_known = active.copy()
        whole = np.zeros(len(strings), bool)
        for rows in cached_slices(len(strings)):
            going = active[rows]
            for at, (steps, unknown, stops) in enumerate(self._symbols):
                symbols = symbols_at(data, starts[rows], lengths[rows], at)
                codes[rows] += steps.take(symbols) * going
                ended = stops.take(symbols) & going
                if ended.any():
                    unknown_rows = unknown.take(symbols) & ended
                    is_known[rows] &= ~unknown_rows
                    whole[rows] |= ended & ~unknown_rows
                    going &= ~ended
        return codes, is_known, whole

    @cached_property
    def _symbols(self) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], ...]:
        """For each position: what a symbol adds, if it is unknown, and if it is an end."""
        symbols = []
        for alphabet, weight in zip(self.alphabets, self.weights, strict=True):
            unknown = np.ones(SYMBOLS, bool)
            unknown[list(alphabet)] = False
            # an unknown symbol gets the greatest code below it: that of the next known symbol minus
            # one
            steps = np.searchsorted(alphabet, np.arange(SYMBOLS)) * weight - unknown
            stops = unknown.copy()
            stops[END] = True
            symbols.append((steps, unknown, stops))
        return tuple(symbols)

    def reach(self, strings: pa.Array) -> np.ndarray:
        """Return how many bytes of each string its code depends on."""
        reach: np.ndarray = self._behind_prefix(strings)[2] + len(self.alphabets)
        return reach

    def _behind_prefix(self, strings: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the first codes, which strings have the prefix, and the length of the prefix."""
        if self.shared_prefixes is not None:
            indices, active, skipped = self.shared_prefixes.locate(strings)
            return np.where(active, indices, indices + 1) * self._tails - ~active, active, skipped
        data, starts, lengths = byte_views(strings)
        codes = np.zeros(len(starts), np.int64)
        active = np.ones(len(starts), bool)
        alike = pc.all(pc.starts_with(strings, self.prefix)).as_py()
        for at, byte in enumerate(b"" if alike else self.prefix):
            symbols = symbols_at(data, starts, lengths, at)
            codes[active & (symbols < byte + 1)] = -1
            codes[active & (symbols > byte + 1)] = CODE_LIMIT - 1
            active &= symbols == byte + 1
            if not active.any():
                break
        return codes, active, np.full(len(starts), len(self.prefix))

    def interval(self, low: bytes | None, high: bytes | None) -> tuple[int, int]:
        """Return the interval of codes of all keys in ``[low, high)``; ``None`` is no bound."""
        start, end = 0, CODE_LIMIT
        if low is not None and high == low + b"\0":
            code, known, _ = self._encode_one(low)
            return (code, code + 1) if known else (0, 0)
        if low is not None:
            code, known, _ = self._encode_one(low)
            start = code if known else code + 1
        if high is not None:
            # the strings below s + "\0" are the strings up to s
            last = high[:-1] if high.endswith(b"\0") else high
            code, known, whole = self._encode_one(last)
            end = code if known and whole and last is high else code + 1
        return start, end

    def intervals(
        self, pairs: Sequence[tuple[bytes | None, bytes | None]]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return first and last codes, both included, of the intervals that contain a code."""
        if len(pairs) < _FEW:
            intervals = [self.interval(low, high) for low, high in pairs]
            nonempty = np.array([(a, b - 1) for a, b in intervals if a < b], np.int64).reshape(
                -1, 2
            )
            return nonempty[:, 0], nonempty[:, 1]
        firsts, is_known, _ = self.encode(pa.array([low or b"" for low, _ in pairs], pa.binary()))
        open_low = np.array([low is None for low, _ in pairs], bool)
        beyond = ~open_low & ~is_known & (firsts == CODE_LIMIT - 1)
        firsts = np.where(open_low, 0, firsts + (~is_known & ~beyond))
        closed = np.array([high is not None and high.endswith(b"\0") for _, high in pairs], bool)
        ends = [
            (high or b"")[: -1 if to else None] for (_, high), to in zip(pairs, closed, strict=True)
        ]
        lasts, is_known, whole = self.encode(pa.array(ends, pa.binary()))
        open_high = np.array([high is None for _, high in pairs], bool)
        lasts = np.where(open_high, CODE_LIMIT - 1, lasts - (is_known & whole & ~closed))
        nonempty = ~beyond & (firsts <= lasts)
        return firsts[nonempty], lasts[nonempty]

    def _encode_one(self, text: bytes) -> tuple[int, bool, bool]:
        """Encode one string."""
        end = len(text)
        if self.shared_prefixes is not None:
            index, at = self.shared_prefixes.find(text)
            if not at:
                return (index + 1) * self._tails - 1, False, False
            code = index * self._tails
        elif text.startswith(self.prefix):
            code, at = 0, len(self.prefix)
        else:
            return -1 if text < self.prefix else CODE_LIMIT - 1, False, False
        looked_at = text[at : at + len(self._steps)]
        if len(looked_at) == len(self._steps):
            # nearly all strings reach the last position; then a known one needs no further check
            try:
                return code + sum(map(operator.getitem, self._steps, looked_at)), True, False
            except KeyError:
                pass
        for index, steps in enumerate(self._steps):
            symbol = text[at] + 1 if at < end else END
            step = steps.get(symbol - 1)
            if step is None:
                below = bisect.bisect_left(self.alphabets[index], symbol)
                return code + below * self.weights[index] - 1, False, False
            code += step
            if symbol == END:
                return code, True, True
            at += 1
        return code, True, False

    @cached_property
    def _steps(self) -> tuple[dict[int, int], ...]:
        """For each position, map a byte to the value that it adds to the code; -1 is the end."""
        return tuple(
            {symbol - 1: digit * weight for digit, symbol in enumerate(alphabet)}
            for alphabet, weight in zip(self.alphabets, self.weights, strict=True)
        )

    def decode(self, codes: np.ndarray) -> pa.Array:
        """Return the shortest strings that separate the keys as the given codes do.

        Args:
            codes: int64, not negative; codes that this code can produce.

        Returns:
            For each code a ``binary`` string that is above all keys of lower codes, and not above
            any key of this code or a greater one.
        """
        indices, rest = np.divmod(codes, self._tails)
        columns = np.zeros((len(codes), len(self.alphabets)), np.uint8)
        lengths = np.zeros(len(codes), np.int64)
        for at, (alphabet, weight) in enumerate(zip(self.alphabets, self.weights, strict=True)):
            # after the last digit that counts, every key continues with the least symbol or a
            # greater one
            going = rest > 0
            digits, rest = np.divmod(rest, weight)
            symbols = np.array(alphabet)[digits]
            # nothing lies between a string's end and the next symbol
            void = going & (symbols == END) & (rest > 0)
            symbols[void] = alphabet[min(1, len(alphabet) - 1)]
            rest[void] = 0
            columns[:, at] = symbols - 1
            lengths[going] = at + 1
        bodies = binary_array(np.arange(len(codes) + 1) * len(self.alphabets), columns.ravel())
        shared_prefixes = pa.scalar(self.prefix, pa.binary())
        if self.shared_prefixes is not None:
            shared_prefixes = self.shared_prefixes.array.take(pa.array(indices))
        joined: pa.Array = pc.binary_join_element_wise(
            shared_prefixes, prefixes(bodies, lengths), pa.scalar(b"", pa.binary())
        )
        return joined

    @classmethod
    def union(cls, codes: Sequence[TextCode | None]) -> TextCode | None:
        """Return a code that knows every string that at least one of the given codes knows.

        Returns:
            The code, or ``None`` if there is no such code.
        """
        present = [code for code in codes if code is not None]
        if len(present) < len(codes) or not present:
            return None
        several = [code.shared_prefixes for code in present if code.shared_prefixes is not None]
        shared_prefixes = SharedPrefixes.union(several) if several else None
        if len(several) not in (0, len(present)) or (several and shared_prefixes is None):
            return None
        prefix = shared_prefix(pa.array([code.prefix for code in present], pa.binary()))
        paths = [
            (*((byte + 1,) for byte in code.prefix[len(prefix) :]), *code.alphabets)
            for code in present
        ]
        alphabets: list[tuple[int, ...]] = []
        size = 1 if shared_prefixes is None else len(shared_prefixes.texts)
        for at in range(max(map(len, paths))):
            here: set[int] = set()
            for path in paths:
                if at < len(path):
                    here.update(path[at])
                elif path[-1] == (END,):
                    here.add(END)
                else:
                    # the codes never looked at this position of their strings
                    return cls(prefix, tuple(alphabets), shared_prefixes)
            if size * len(here) >= CODE_LIMIT or len(alphabets) == POSITIONS:
                break
            size *= len(here)
            alphabets.append(tuple(sorted(here)))
        return cls(prefix, tuple(alphabets), shared_prefixes)
