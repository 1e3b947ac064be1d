"""Shared prefixes of byte strings: a few beginnings, up to a delimiter, of many strings."""

from __future__ import annotations

import bisect
import itertools
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve.byte_order import (
    CODE_LIMIT,
    byte_views,
    bytewise_order,
    position_codes,
    substrings,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_PREFIXES = 1 << 15
MAX_PREFIX_BYTES = 1 << 20
# a prefix must save more bytes in the keys than it takes
KEYS_PER_PREFIX = 16
_SAMPLE = 1 << 14
_TRIED = 8
_DEPTHS = 4


@dataclass(frozen=True)
class SharedPrefixes:
    """The beginnings of hierarchical strings, such as URLs and paths, numbered in order.

    A prefix ends with its last delimiter. No prefix is a prefix of another one, so strings compare
    by their prefixes first, then by the rest.

    Args:
        delimiter: The byte that ends a prefix.
        count: How many delimiters a prefix contains.
        texts: The prefixes, ascending.
    """

    delimiter: int
    count: int
    texts: tuple[bytes, ...]

    @property
    def is_valid(self) -> bool:
        """True if the prefixes ascend, and each ends with its ``count``-th delimiter."""
        if not 0 <= self.delimiter < 256 or self.count < 1 or not self.texts:
            return False
        end = bytes([self.delimiter])
        ascending = all(a < b for a, b in itertools.pairwise(self.texts))
        return ascending and all(
            text.endswith(end) and text.count(end) == self.count for text in self.texts
        )

    @cached_property
    def array(self) -> pa.Array:
        """The prefixes as a ``binary`` array."""
        return pa.array(self.texts, pa.binary())

    @classmethod
    def split(cls, joined: bytes, delimiter: int, count: int) -> SharedPrefixes:
        """Split a string of joined prefixes."""
        at = np.flatnonzero(np.frombuffer(joined, np.uint8) == delimiter)
        ends = at[count - 1 :: count] + 1
        if len(ends) == 0 or int(ends[-1]) != len(joined) or len(ends) > MAX_PREFIXES:
            raise ValueError("its shared prefixes are invalid")
        bounds = itertools.pairwise([0, *ends.tolist()])
        return cls(delimiter, count, tuple(joined[start:end] for start, end in bounds))

    @classmethod
    def fit(cls, strings: pa.Array) -> tuple[SharedPrefixes, np.ndarray, np.ndarray] | None:
        """Choose prefixes after which the strings have few bytes left.

        Returns:
            The prefixes, the index of each string's prefix, and the length of that prefix; ``None``
            if there are too many prefixes, or none.
        """
        for delimiter, count in _promising(strings):
            fitted = cls._fitted(strings, delimiter, count)
            if fitted is not None:
                return fitted
        return None

    @classmethod
    def _fitted(
        cls, strings: pa.Array, delimiter: int, count: int
    ) -> tuple[SharedPrefixes, np.ndarray, np.ndarray] | None:
        data, starts, lengths = byte_views(strings)
        ends, complete = _ends(data, starts, lengths, delimiter, count)
        if not complete.all():
            return None
        coded = substrings(data, starts, ends).dictionary_encode()
        texts = coded.dictionary.cast(pa.binary())
        if len(texts) > min(MAX_PREFIXES, 1 + len(strings) // KEYS_PER_PREFIX):
            return None
        if int(byte_views(texts)[2].sum()) > MAX_PREFIX_BYTES:
            return None
        order = pc.sort_indices(texts).to_numpy()
        ranks = np.empty(len(order), np.int64)
        ranks[order] = np.arange(len(order))
        fitted = cls(delimiter, count, tuple(texts.take(pa.array(order)).to_pylist()))
        return fitted, ranks[coded.indices.to_numpy()], ends

    def locate(self, strings: pa.Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Find the prefixes of any strings.

        Returns:
            The index of the last prefix that is not above each string, or -1; whether the string
            begins with this prefix; and the prefix's length if it does.
        """
        data, starts, lengths = byte_views(strings)
        ends, _ = _ends(data, starts, lengths, self.delimiter, self.count)
        coded = substrings(data, starts, ends).dictionary_encode()
        texts = coded.dictionary.cast(pa.binary())
        exact = pc.index_in(texts, value_set=self.array).fill_null(-1)
        indices = exact.to_numpy().astype(np.int64)
        has_prefix = indices >= 0
        unknown = np.flatnonzero(~has_prefix)
        if len(unknown):
            others = texts.take(pa.array(unknown))
            order, _ = bytewise_order(pa.concat_arrays([self.array, others]))
            below = np.empty(len(order), np.int64)
            below[order] = np.cumsum(order < len(self.texts)) - 1
            indices[unknown] = below[len(self.texts) :]
        which = coded.indices.to_numpy()
        return indices[which], has_prefix[which], ends

    def find(self, text: bytes) -> tuple[int, int]:
        """Locate one string. Return the index of its prefix, and the prefix's length or 0."""
        at = bisect.bisect_right(self.texts, text) - 1
        if at >= 0 and text.startswith(self.texts[at]):
            return at, len(self.texts[at])
        return at, 0

    @classmethod
    def union(cls, several: Sequence[SharedPrefixes]) -> SharedPrefixes | None:
        """Return the union of several lists of prefixes, or ``None`` if they do not fit together.

        They do not fit if their delimiters differ or if the union is too large.
        """
        kinds = {(prefixes.delimiter, prefixes.count) for prefixes in several}
        texts = sorted(set(itertools.chain.from_iterable(prefixes.texts for prefixes in several)))
        if len(kinds) > 1 or len(texts) > MAX_PREFIXES or sum(map(len, texts)) > MAX_PREFIX_BYTES:
            return None
        return cls(*kinds.pop(), tuple(texts))


def _ends(
    data: np.ndarray, starts: np.ndarray, lengths: np.ndarray, delimiter: int, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return each string's length up to and including a delimiter, and whether it has one.

    A string without the delimiter gives its whole length.
    """
    # an index after the end means that the delimiter is missing
    at = np.append(np.flatnonzero(data == delimiter), len(data))
    delimiter_index = _firsts(at[:-1], starts, lengths) + (count - 1)
    ends = at[np.minimum(delimiter_index, len(at) - 1)] + 1 - starts
    complete = ends <= lengths
    return np.where(complete, ends, lengths), complete


def _firsts(positions: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the first of ascending positions that is not before each string's start."""
    each = len(positions) // max(1, len(starts))
    if each and each * len(starts) == len(positions):
        # the usual case: every string has the same number of positions, so no search is needed
        by_string = positions.reshape(-1, each)
        if (by_string[:, 0] >= starts).all() and (by_string[:, -1] < starts + lengths).all():
            return np.arange(0, len(positions), each)
    return np.searchsorted(positions, starts)


def _promising(strings: pa.Array) -> Iterator[tuple[int, int]]:
    """Yield delimiters and counts for which the codes of a sample are unique, best first."""
    step = max(1, len(strings) // _SAMPLE)
    sample = strings.take(pa.array(np.arange(0, len(strings), step))).unique()
    data, starts, lengths = byte_views(sample)
    if len(data) == 0:
        return
    # with MAX_PREFIXES prefixes in all, the sample would have about this many distinct ones
    most = len(sample) - min(len(sample) ** 2 / (2 * MAX_PREFIXES), len(sample) / 2)
    sized = []
    for delimiter, depth in _delimiters(data, starts, lengths):
        for count in range(depth, max(0, depth - _DEPTHS), -1):
            ends, _ = _ends(data, starts, lengths, delimiter, count)
            prefix_count = len(substrings(data, starts, ends).unique())
            if prefix_count > most:
                continue
            _, alphabets, whole = position_codes(data, starts + ends, lengths - ends)
            size = prefix_count
            for alphabet in alphabets:
                size *= len(alphabet)
            if whole and size < CODE_LIMIT:
                sized.append((size, delimiter, count))
    for _, delimiter, count in sorted(sized):
        yield delimiter, count


def _delimiters(data: np.ndarray, starts: np.ndarray, lengths: np.ndarray) -> list[tuple[int, int]]:
    """Return bytes that all strings contain, except letters and digits, with their least count."""
    few = slice(0, len(starts), max(1, len(starts) // _TRIED))
    shared: Counter[int] | None = None
    for start, length in zip(starts[few].tolist(), lengths[few].tolist(), strict=True):
        counts = Counter(data[start : start + length].tolist())
        shared = counts if shared is None else shared & counts
    candidates = []
    for byte in sorted(shared or ()):
        if byte < 128 and not chr(byte).isalnum():
            at = np.flatnonzero(data == byte)
            count_by_string = np.searchsorted(at, starts + lengths) - np.searchsorted(at, starts)
            if count_by_string.min() > 0:
                candidates.append((byte, int(count_by_string.min())))
    return candidates
