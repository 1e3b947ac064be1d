"""The core of an index: kernels that take and return arrays, without I/O and without an engine."""

from __future__ import annotations

from lakesieve.defaults import ABSENT_HITS
from lakesieve.sieve.blocks import Blocks
from lakesieve.sieve.budget import Budget, build_budgeted, trade_offs
from lakesieve.sieve.build import BlockBuilder, blocks_of_pairs, build_blocks
from lakesieve.sieve.byte_order import byte_views, front_coded, front_decoded, prefix_ends
from lakesieve.sieve.code_bounds import CodeBounds
from lakesieve.sieve.composite import (
    MAX_COLUMNS,
    VALUES,
    KeysOfRow,
    component_code,
    component_part,
    encode_composite,
    encode_rows,
    keys_of_rows,
    leading_code,
)
from lakesieve.sieve.end_keys import (
    END_KEY_BYTES,
    MOST_END_KEYS,
    EndKeys,
    KnownKeys,
)
from lakesieve.sieve.hitting_set import hitting_units
from lakesieve.sieve.keys import (
    HIGHEST,
    KINDS,
    LOWEST,
    Code,
    Interval,
    KeyKind,
    KeyType,
    bytewise_code,
    bytewise_codes,
    code_order,
    decode_keys,
    encode_keys,
    successor,
    unscaled,
    wide_code,
)
from lakesieve.sieve.lookup import (
    chosen_units,
    distinct,
    lookup_codes,
    lookup_points,
    lookup_range,
    lookup_ranges,
    lookup_spans,
    lookup_words,
)
from lakesieve.sieve.merge import merge_blocks, merge_streams
from lakesieve.sieve.pairs import sort_pairs
from lakesieve.sieve.range_set import RangeSet, one_range, row_groups_of
from lakesieve.sieve.separators import with_gaps
from lakesieve.sieve.shared_prefixes import MAX_PREFIX_BYTES, SharedPrefixes
from lakesieve.sieve.text import TextCode
from lakesieve.sieve.trade_off_curve import TradeOff
from lakesieve.sieve.words import LONGEST_WORD, WordPart, is_of_word, split_words

__all__ = [
    "ABSENT_HITS",
    "END_KEY_BYTES",
    "HIGHEST",
    "KINDS",
    "LONGEST_WORD",
    "LOWEST",
    "MAX_COLUMNS",
    "MAX_PREFIX_BYTES",
    "MOST_END_KEYS",
    "VALUES",
    "BlockBuilder",
    "Blocks",
    "Budget",
    "Code",
    "CodeBounds",
    "EndKeys",
    "Interval",
    "KeyKind",
    "KeyType",
    "KeysOfRow",
    "KnownKeys",
    "RangeSet",
    "SharedPrefixes",
    "TextCode",
    "TradeOff",
    "WordPart",
    "blocks_of_pairs",
    "build_blocks",
    "build_budgeted",
    "byte_views",
    "bytewise_code",
    "bytewise_codes",
    "chosen_units",
    "code_order",
    "component_code",
    "component_part",
    "decode_keys",
    "distinct",
    "encode_composite",
    "encode_keys",
    "encode_rows",
    "front_coded",
    "front_decoded",
    "hitting_units",
    "is_of_word",
    "keys_of_rows",
    "leading_code",
    "lookup_codes",
    "lookup_points",
    "lookup_range",
    "lookup_ranges",
    "lookup_spans",
    "lookup_words",
    "merge_blocks",
    "merge_streams",
    "one_range",
    "prefix_ends",
    "row_groups_of",
    "sort_pairs",
    "split_words",
    "successor",
    "trade_offs",
    "unscaled",
    "wide_code",
    "with_gaps",
]
