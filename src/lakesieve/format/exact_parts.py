"""The exact parts of a merged segment in its footer."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from lakesieve.sieve import HIGHEST, LOWEST, ExactPart, ExactParts

if TYPE_CHECKING:
    from lakesieve.format.entries import SegmentEntry
    from lakesieve.sieve import Blocks


def parts_to_json(blocks: Blocks) -> dict[str, Any]:
    """Return the field of the footer that holds the exact parts, or none without such parts."""
    parts = blocks.parts
    if parts is None or not parts.parts:
        return {}
    return {
        "parts": {
            "units": [[part.start, part.end] for part in parts.parts],
            "dense": [None if part.dense is None else list(part.dense) for part in parts.parts],
            "cut": [parts.is_cut_below, parts.is_cut_above],
        }
    }


def parts_from_json(document: Any, entry: SegmentEntry, unit_count: int) -> ExactParts | None:
    """Parse and check the exact parts of a segment; ``None`` if its footer has none.

    Raises:
        ValueError: They contradict each other, or the segment.
        KeyError: A field is missing.
        TypeError: A field has another type.
    """
    if document is None:
        return None
    below, above = document["cut"]
    if type(below) is not bool or type(above) is not bool:
        raise TypeError("the cuts of its exact parts are not booleans")
    borders = [_pair(units) for units in document["units"]]
    if any(end > start for (_, end), (start, _) in itertools.pairwise(borders)) or not all(
        0 <= start < end <= unit_count for start, end in borders
    ):
        raise ValueError("its exact parts are no ascending parts of its units")
    dense = [None if codes is None else _pair(codes) for codes in document["dense"]]
    if not all(codes is None or LOWEST <= codes[0] <= codes[1] < HIGHEST for codes in dense):
        raise ValueError("the dense keys of an exact part are no range of codes")
    if isinstance(entry.key_min, bytes) and any(codes is not None for codes in dense):
        raise TypeError("byte strings are no dense keys")
    return ExactParts(
        parts=tuple(
            ExactPart(start=start, end=end, dense=codes)
            for (start, end), codes in zip(borders, dense, strict=True)
        ),
        is_cut_below=below,
        is_cut_above=above,
    )


def _pair(value: Any) -> tuple[int, int]:
    first, second = value
    if type(first) is not int or type(second) is not int:
        raise TypeError("an exact part has a border that is no integer")
    return first, second
