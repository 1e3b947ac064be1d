"""The kit that lakesieve is tested with: slow twins, Hypothesis strategies, faulty storage."""

from __future__ import annotations

from lakesieve.testing.faults import Crash, Fault, FaultPlan, FaultyStorage
from lakesieve.testing.reference import (
    as_blocks,
    as_sets,
    block_sets,
    codes_of,
    normal_path,
    point_units,
    range_units,
    rows_as_bytes,
    rows_as_tuples,
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
    "Crash",
    "Fault",
    "FaultPlan",
    "FaultyStorage",
    "KeyColumn",
    "as_blocks",
    "as_sets",
    "block_sets",
    "codes",
    "codes_of",
    "intervals",
    "key_columns",
    "key_sets",
    "normal_path",
    "ordinals",
    "point_units",
    "range_units",
    "rows_as_bytes",
    "rows_as_tuples",
    "sorted_pairs",
]
