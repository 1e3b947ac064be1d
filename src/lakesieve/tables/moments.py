"""Moments as users name versions by them."""

from __future__ import annotations

import math
from datetime import UTC, datetime


def millis_of(text: str) -> int | None:
    """Milliseconds since the epoch, rounded down; ``None`` for what is no ISO timestamp."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return math.floor(instant.timestamp() * 1000)
