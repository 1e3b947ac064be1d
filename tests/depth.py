"""How deep tests of drawn cases go: short in ``make test``, in depth in ``make soak``."""

from __future__ import annotations

import os

__all__ = ["SOAK", "depth"]

SOAK = os.environ.get("LAKESIEVE_DEPTH") == "soak"


def depth(name: str, *, test: int, soak: int) -> int:
    """How many cases, steps or rounds a test draws.

    Args:
        name: ``LAKESIEVE_<NAME>`` in the environment wins over both counts.
        test: The count in ``make test``.
        soak: The count in ``make soak``.
    """
    return int(os.environ.get(f"LAKESIEVE_{name}", soak if SOAK else test))
