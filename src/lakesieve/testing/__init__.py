"""The kit that lakesieve is tested with: slow, obvious twins and Hypothesis strategies."""

from __future__ import annotations

from lakesieve.testing.reference import (
    as_blocks,
    as_sets,
    block_sets,
    codes_of,
    point_units,
    range_units,
    sorted_pairs,
)
from lakesieve.testing.strategies import (
    KeyColumn,
    codes,
    intervals,
    key_columns,
    key_sets,
    ordinals,
)

__all__ = [
    "KeyColumn",
    "as_blocks",
    "as_sets",
    "block_sets",
    "codes",
    "codes_of",
    "intervals",
    "key_columns",
    "key_sets",
    "ordinals",
    "point_units",
    "range_units",
    "sorted_pairs",
]
