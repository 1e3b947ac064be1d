"""Choose the row groups of an index of words that a search for a part of a word reads."""

from __future__ import annotations

import bisect
from itertools import repeat
from operator import mul
from typing import TYPE_CHECKING

from lakesieve.format.groups import LONGEST_SEPARATOR
from lakesieve.sieve import LONGEST_WORD

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.sieve import RangeSet, WordPart
    from lakesieve.store.segment_loader import OpenedSegment


def groups_with_part(opened: OpenedSegment, part: WordPart, ranges: RangeSet) -> list[int]:
    """Return the row groups of a segment that can have a word with a part, in ranges of keys.

    Identifiers make up most words of a log. They have few different characters, and mostly the same
    length. So other words, and whole identifiers, are searched in few row groups.
    """
    letters, text = opened.footer.letters, part.text
    reached = ranges.row_groups(opened.firsts)
    if letters is None:
        return reached
    is_longer = letters.longest >= len(text) + (not part.is_folded)
    at = bisect.bisect_right(opened.firsts, text) - 1
    if at >= 0 and text <= opened.footer.max_key:  # type: ignore[operator]
        # no word is longer than the part, so only the part itself has these bytes
        is_longer[at] |= letters.longest[at] == len(text)
    is_cut = letters.longest >= LONGEST_WORD
    may_have = is_cut | (is_longer & part.may_be_in(letters.occurs))
    return [number for number in reached if may_have[number]]


def words_bytes(opened: OpenedSegment, groups: Sequence[int]) -> int:
    """Return at most how many bytes the words of some row groups have."""
    letters = opened.footer.letters
    longest = repeat(LONGEST_SEPARATOR) if letters is None else letters.longest[groups].tolist()
    blocks = (opened.footer.groups[number].blocks for number in groups)
    return sum(map(mul, blocks, longest))
