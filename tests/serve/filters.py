"""Filters that PyIceberg can send to a server."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.engines.drawn import pyiceberg_filter

if TYPE_CHECKING:
    import random

__all__ = ["as_json", "sent_filter"]


def as_json(wanted: Any) -> Any:
    """A filter of PyIceberg's as it sends it.

    Args:
        wanted: The filter.
    """
    return json.loads(wanted.model_dump_json())


def sent_filter(drawn: random.Random) -> Any:
    """Draw a filter of PyIceberg's without infinity, which JSON does not have.

    Args:
        drawn: Draws it.
    """
    while True:
        wanted = pyiceberg_filter(drawn)
        if "null" not in wanted.model_dump_json().replace("is-null", "").replace("not-null", ""):
            return wanted
