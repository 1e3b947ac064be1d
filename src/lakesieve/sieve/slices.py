"""Slices of an array put one after the other."""

from __future__ import annotations

import numpy as np


def slice_indices(starts: np.ndarray, lengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Put slices of an array one after the other.

    Args:
        starts: First index of each slice.
        lengths: Length of each slice, which may be 0.

    Returns:
        Offsets of the slices in the result, int64, one more than slices; and the indices.
    """
    offsets = np.zeros(len(starts) + 1, np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets, np.arange(offsets[-1]) + np.repeat(starts - offsets[:-1], lengths)
