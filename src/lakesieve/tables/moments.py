"""Parse points in time, with which users name versions."""

from __future__ import annotations

import math
from datetime import UTC, datetime


def millis_of(text: str) -> int | None:
    """Return milliseconds since the epoch, rounded down; ``None`` if it is not an ISO timestamp."""
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        return None
    if instant.tzinfo is None:
        instant = instant.replace(tzinfo=UTC)
    return math.floor(instant.timestamp() * 1000)
