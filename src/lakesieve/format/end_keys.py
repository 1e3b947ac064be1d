"""The end keys of a segment in its footer."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from lakesieve.format.entries import code_from_json, code_to_json
from lakesieve.sieve import EndKeys

if TYPE_CHECKING:
    from lakesieve.format.entries import SegmentEntry
    from lakesieve.sieve import Blocks


def ends_to_json(blocks: Blocks) -> dict[str, Any]:
    """Return the fields of the footer that hold the end keys, or none if they are not known."""
    ends = blocks.ends
    if ends is None:
        return {}
    return {
        "ends": {
            "first": [code_to_json(code) for code in ends.first],
            "last": [code_to_json(code) for code in ends.last],
            "count": ends.count,
            "exact": ends.is_exact,
        }
    }


def ends_from_json(document: Any, entry: SegmentEntry) -> EndKeys | None:
    """Parse and check the end keys of a segment; ``None`` if its footer has none.

    Raises:
        ValueError: They contradict each other, or the segment's entry.
        KeyError: A field is missing.
        TypeError: A field has another type.
    """
    if document is None:
        return None
    first, last = (tuple(map(code_from_json, document[name])) for name in ("first", "last"))
    count, is_exact = document["count"], document["exact"]
    if type(is_exact) is not bool or (count is not None and type(count) is not int):
        raise TypeError("its end keys have a field of another type")
    kind = type(entry.key_min)
    if not all(type(code) is kind for code in (*first, *last)):
        raise TypeError("an end key has another type than its segment")
    codes: list[Any] = [entry.key_min, *first, *last, entry.key_max]
    # the bounds of a segment may be keys
    is_ascending = codes[0] <= codes[1] and codes[-2] <= codes[-1]
    is_ascending &= all(low < high for low, high in itertools.pairwise(codes[1:-1]))
    held = len(first) + len(last)
    if not is_ascending or (count is not None and (count < held or (last and count <= len(first)))):
        raise ValueError("its end keys contradict its bounds or their count")
    return EndKeys(first=first, last=last, count=count, is_exact=is_exact)
