"""Blocks: runs of adjacent keys that lie in the same units."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.sieve.end_keys import EndKeys
    from lakesieve.sieve.keys import Code
    from lakesieve.sieve.text import TextCode


@dataclass(frozen=True, kw_only=True, eq=False)
class Blocks:
    """An ordered list of blocks. Each block has a separator and the set of units of its keys.

    Block ``i`` covers the codes from ``keys[i]`` up to, not including, ``keys[i + 1]``. The last
    block ends with ``max_key``, which it includes. The set of a present key is exact: it holds just
    the units with that key. An absent key gets the set of the block that it falls into, which may
    be empty.

    Args:
        keys: Separators: first code of every block, strictly ascending, ``int64`` or ``binary``.
        offsets: Start of each block's set in ``ordinals``, then the end of the last; int64.
        ordinals: The sets one after the other, each ascending, int32. An empty set is a gap.
        max_key: The last code.
        bounds: The first and the last key. They are byte strings even if ``keys`` are text codes.
        key_count: Number of distinct keys.
        pair_count: Number of distinct (key, ordinal) pairs.
        text: The text code, if the keys are byte strings and ``keys`` holds their text codes.
        ends: The keys at both ends, if they are known.
    """

    keys: pa.Array
    offsets: np.ndarray
    ordinals: np.ndarray
    max_key: Code
    bounds: tuple[Code, Code]
    key_count: int
    pair_count: int
    text: TextCode | None = None
    ends: EndKeys | None = None

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def nbytes(self) -> int:
        """Memory of the blocks in bytes. Offsets that are a view of another array count as 0."""
        owned = self.offsets.nbytes if self.offsets.base is None else 0
        return int(self.keys.nbytes) + owned + self.ordinals.nbytes

    @cached_property
    def codes(self) -> np.ndarray | None:
        """Separators as an int64 array, or ``None`` if they are byte strings."""
        return self.keys.to_numpy() if self.keys.type == pa.int64() else None

    @cached_property
    def text_at(self) -> Callable[[int], bytes]:
        """Function that reads a separator that is a byte string, without an Arrow scalar."""
        _, offsets, data = self.keys.buffers()
        start = self.keys.offset
        bounds = memoryview(offsets).cast("b").cast("i")[start : start + len(self.keys) + 1]
        memory = memoryview(data or b"")

        def text(at: int) -> bytes:
            return memory[bounds[at] : bounds[at + 1]].tobytes()

        return text

    def validate(self) -> None:
        """Check everything that a look-up relies on. Look-ups do not use the counts."""
        count = len(self.keys)
        _promise(self.keys.type in {pa.int64(), pa.binary()}, "keys are int64 or binary")
        _promise(count > 0 and self.keys.null_count == 0, "there are keys, and none is null")
        _promise(bool(_greater(self.keys).all()), "keys ascend strictly")
        _promise(self.keys[-1].as_py() <= self.max_key, "no key is above the last key")
        _promise(len(self.offsets) == count + 1, "there is one more offset than keys")
        _promise(
            int(self.offsets[0]) == 0 and int(self.offsets[-1]) == len(self.ordinals),
            "offsets lead from 0 to the number of ordinals",
        )
        _promise(not len(self.ordinals) or self.ordinals.min() >= 0, "ordinals are not negative")
        if len(self.ordinals) == count and self.offsets.base is single_offsets(count).base:
            return
        sizes = np.diff(self.offsets)
        _promise(bool((sizes >= 0).all()), "offsets ascend")
        if len(self.ordinals) > np.count_nonzero(sizes):
            inside = np.ones(len(self.ordinals), bool)
            inside[self.offsets[:-1][sizes > 0]] = False
            steps = np.diff(self.ordinals, prepend=np.int32(0))
            _promise(bool((steps[inside] > 0).all()), "each set ascends strictly")


def slice_indices(starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Join slices of an array: compute the indices that select them one after the other.

    Returns:
        Offsets of the slices in the result (int64, one more than slices), and the indices.
    """
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets, np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)


def single_offsets(count: int) -> np.ndarray:
    """Return the read-only offsets of ``count`` sets of one unit each. Blocks share this array."""
    return _numbers(count.bit_length())[: count + 1]


@cache
def _numbers(bits: int) -> np.ndarray:
    numbers = np.arange((1 << bits) + 1)
    numbers.flags.writeable = False
    return numbers


def _promise(holds: bool, what: str) -> None:
    if not holds:
        raise InvalidInputError(
            f"These blocks are invalid. They break the rule: {what}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Make them with build_blocks or read them from a segment.",
        )


def key_steps(keys: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Compare every key with the one before it.

    Args:
        keys: ``int64`` or ``binary``, without nulls.

    Returns:
        Two boolean arrays, one entry shorter than ``keys``: where a key is greater than the key
        before it, and where it is equal.
    """
    if keys.type == pa.int64():
        values = keys.to_numpy()
        return _greater(keys), values[1:] == values[:-1]
    same = pc.equal(keys.slice(1), keys.slice(0, max(len(keys) - 1, 0)))
    return _greater(keys), same.to_numpy(zero_copy_only=False)


def _greater(keys: pa.Array) -> np.ndarray:
    """Return where a key is greater than the key before it."""
    if keys.type == pa.int64():
        values = keys.to_numpy()
        is_greater: np.ndarray = values[1:] > values[:-1]
        return is_greater
    greater = pc.greater(keys.slice(1), keys.slice(0, max(len(keys) - 1, 0)))
    return np.asarray(greater.to_numpy(zero_copy_only=False))
