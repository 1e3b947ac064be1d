"""What reading the filters of other libraries takes, whichever library."""

from __future__ import annotations

MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Comparisons with their sides exchanged."""

DEEPEST = 200
"""How many conditions may stand in one another; what is deeper is unknown."""


class OddError(Exception):
    """A part of a filter of a form that is not known."""
