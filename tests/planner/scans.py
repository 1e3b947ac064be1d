"""Scans of the small table of ``tests.store.samples``."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["scan_at"]

_FIELDS = [{"id": 1, "name": "k", "type": "long", "required": False}]
_SCHEMA = json.dumps({"type": "struct", "fields": _FIELDS})


def scan_at(location: str, key: int = 7) -> dict[str, Any]:
    """A scan of the rows with one key.

    Args:
        location: Root of the table.
        key: The key.
    """
    return {
        "location": location,
        "uuid": "t",
        "format": "iceberg",
        "schema": _SCHEMA,
        "filter": {"op": "=", "col": ["k"], "type": "integer", "value": str(key)},
    }
