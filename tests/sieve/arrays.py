"""Pairs and key sets as the arrays that the index core takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.sieve import lookup_points

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lakesieve.sieve import Blocks

PHYSICALS = ("int64", "bytes")


def keys_of(codes: Iterable[Any], physical: str) -> pa.Array:
    return pa.array(list(codes), pa.int64() if physical == "int64" else pa.binary())


def arrays_of(pairs: Iterable[tuple[Any, int]], physical: str) -> tuple[pa.Array, np.ndarray]:
    listed = list(pairs)
    units = np.array([unit for _, unit in listed], np.int32)
    return keys_of((key for key, _ in listed), physical), units


def pairs_of(sets: Mapping[Any, set[int]]) -> list[tuple[Any, int]]:
    return [(key, unit) for key in sorted(sets) for unit in sorted(sets[key])]


def units_of(blocks: Blocks, keys: Iterable[Any]) -> dict[Any, set[int]]:
    listed = list(keys)
    physical = "bytes" if listed and isinstance(listed[0], bytes) else "int64"
    offsets, units = lookup_points(blocks, keys_of(listed, physical))
    return {
        key: set(units[offsets[at] : offsets[at + 1]].tolist()) for at, key in enumerate(listed)
    }
