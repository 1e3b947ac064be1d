"""What the separators of each row group are made of, if they are byte strings."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.format.groups import LONGEST_SEPARATOR
from lakesieve.sieve import byte_views

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.sieve import Blocks

_BYTES = 256


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupLetters:
    """What a search for a part of a key knows of row groups before it reads them.

    Args:
        longest: Bytes of the longest separator of each row group, int64.
        occurs: For each row group and each of the 256 bytes, whether a separator has the byte.
    """

    longest: np.ndarray
    occurs: np.ndarray


def letters_to_json(blocks: Blocks, sizes: Sequence[int]) -> dict[str, Any]:
    """Return the fields of the footer, or none if the separators are integers.

    Args:
        blocks: The blocks of a segment.
        sizes: How many of them each row group has.
    """
    if blocks.keys.type != pa.binary():
        return {}
    data, starts, lengths = byte_views(blocks.keys)
    firsts = np.cumsum([0, *sizes[:-1]])
    offsets = starts[firsts]
    ends = np.append(offsets[1:], len(data))
    occurring = (
        np.bincount(data[start:end], minlength=_BYTES) > 0
        for start, end in zip(offsets.tolist(), ends.tolist(), strict=True)
    )
    return {
        "longest": np.maximum.reduceat(lengths, firsts).tolist(),
        "letters": [_packed(occurs) for occurs in occurring],
    }


def _packed(occurs: np.ndarray) -> str:
    return base64.b64encode(np.packbits(occurs, bitorder="little").tobytes()).decode("ascii")


def letters_from_json(document: Any, count: int) -> GroupLetters | None:
    """Parse and check the fields of a footer; ``None`` if it has none.

    Args:
        document: The footer.
        count: Number of its row groups.

    Raises:
        ValueError: They contradict the row groups.
        KeyError: A field is missing.
        TypeError: A field has another type.
    """
    if document.get("longest") is None:
        return None
    longest, letters = document["longest"], document["letters"]
    if not all(type(length) is int and 0 <= length <= LONGEST_SEPARATOR for length in longest):
        raise ValueError("a length of its longest separators is none")
    packed = b"".join(base64.b64decode(each, validate=True) for each in letters)
    if not len(longest) == len(letters) == count or len(packed) != count * _BYTES // 8:
        raise ValueError("its letters are not those of its row groups")
    bits = np.unpackbits(np.frombuffer(packed, np.uint8), bitorder="little")
    return GroupLetters(
        longest=np.array(longest, np.int64), occurs=bits.reshape(count, _BYTES).astype(bool)
    )
