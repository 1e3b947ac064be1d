"""The lowest and highest key codes of data files and blocks, compared with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.sieve.keys import HIGHEST, LOWEST, bytewise_code, bytewise_codes, successor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.sieve.keys import Code, Interval

# the end of all int64 codes, which is null in an array
_END = HIGHEST + 1


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CodeBounds:
    """A half-open range of key codes for each of some places: data files, or blocks.

    Args:
        lows: The lowest code of each place, ``int64`` or ``binary``. Null: the place has no keys.
        ends: An end above the highest code of each place, of the same type. Null is above all
            codes.
    """

    lows: pa.Array
    ends: pa.Array

    @classmethod
    def united(cls, places: int, parts: Sequence[tuple[np.ndarray, CodeBounds]]) -> CodeBounds:
        """Unite ranges of the same place, from the lowest code to the highest end.

        Args:
            places: The number of places.
            parts: Numbers of places, and the range of each, which is never empty. If their types
                differ, the result has bytes.
        """
        if not parts:
            nothing = pa.nulls(places, pa.int64())
            return cls(lows=nothing, ends=nothing)
        bounds = [part for _, part in parts]
        if len({part.lows.type for part in bounds}) > 1:
            bounds = [part._in_bytes() for part in bounds]
        numbers = np.concatenate([numbers for numbers, _ in parts])
        lows = pa.concat_arrays([part.lows for part in bounds])
        ends = pa.concat_arrays([part.ends for part in bounds])
        return cls(
            lows=_of_places(places, numbers, lows, last=False),
            ends=_of_places(places, numbers, ends, last=True),
        )

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return int(self.lows.nbytes + self.ends.nbytes)

    def inside(self, interval: Interval) -> np.ndarray:
        """Return which places surely have keys, all of which lie in an interval."""
        bounds, low, high = self._comparable(interval)
        inside = _mask(bounds.lows.is_valid())
        if low is not None:
            inside &= _reaches(bounds.lows, low)
        if high is not None:
            inside &= ~_reaches(bounds.ends, successor(high))
        return inside

    def meet(self, interval: Interval) -> np.ndarray:
        """Return which places have a range that overlaps an interval."""
        bounds, low, high = self._comparable(interval)
        meet = _mask(bounds.lows.is_valid())
        if low is not None:
            meet &= _reaches(bounds.ends, successor(low))
        if high is not None:
            meet &= ~_reaches(bounds.lows, high)
        return meet

    def _comparable(self, interval: Interval) -> tuple[CodeBounds, Code | None, Code | None]:
        """Return the ranges and both ends of an interval, as codes of one type."""
        low, high = interval
        are_integers = self.lows.type == pa.int64()
        if are_integers and not any(isinstance(code, bytes) for code in interval):
            return self, low, high
        return self._in_bytes(), bytewise_code(low), bytewise_code(high)

    def _in_bytes(self) -> CodeBounds:
        """Return the ranges as bytes, see :func:`lakesieve.sieve.bytewise_code`."""
        if self.lows.type == pa.binary():
            return self
        ends = pc.fill_null(bytewise_codes(self.ends), bytewise_code(_END))
        return CodeBounds(lows=bytewise_codes(self.lows), ends=ends)


def _reaches(codes: pa.Array, bound: Code) -> np.ndarray:
    """Return which codes are as great as a bound. A null is the end of all codes."""
    if not isinstance(bound, int) or bound <= HIGHEST:
        least = max(bound, LOWEST) if isinstance(bound, int) else bound
        reaches = pc.greater_equal(codes, pa.scalar(least, codes.type))
        return _mask(pc.fill_null(reaches, True))
    return _mask(codes.is_null()) if bound == _END else np.zeros(len(codes), bool)


def _of_places(places: int, numbers: np.ndarray, codes: pa.Array, *, last: bool) -> pa.Array:
    """Return the first or the last code of each place in the order of the codes, null last."""
    order = pc.sort_indices(
        pa.table({"place": numbers, "code": codes}),
        sort_keys=[("place", "ascending"), ("code", "ascending")],
    ).to_numpy()
    ascending = numbers[order]
    chosen = np.ones(len(ascending), bool)
    chosen[slice(-1) if last else slice(1, None)] = ascending[1:] != ascending[:-1]
    at = np.full(places, -1)
    at[ascending[chosen]] = order[chosen]
    return codes.take(pa.array(at, mask=at < 0))


def _mask(array: pa.Array) -> np.ndarray:
    mask: np.ndarray = array.to_numpy(zero_copy_only=False)
    return mask
