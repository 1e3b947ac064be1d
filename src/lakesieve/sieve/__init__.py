"""The index core: arrays in, arrays out; no I/O, no engine."""

from __future__ import annotations

from lakesieve.sieve.blocks import Blocks
from lakesieve.sieve.build import BlockBuilder, build_blocks, sort_pairs
from lakesieve.sieve.keys import KINDS, KeyType, encode_keys
from lakesieve.sieve.lookup import RangeSet, lookup_points, lookup_ranges

__all__ = [
    "KINDS",
    "BlockBuilder",
    "Blocks",
    "KeyType",
    "RangeSet",
    "build_blocks",
    "encode_keys",
    "lookup_points",
    "lookup_ranges",
    "sort_pairs",
]
