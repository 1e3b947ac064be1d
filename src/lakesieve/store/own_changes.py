"""How often this process has changed an index: what it keeps of object stores is then behind."""

from __future__ import annotations

import threading

_LOCK = threading.Lock()
_COUNT = [0]


def note_change() -> None:
    """Count a commit or a drop that this process has just made."""
    with _LOCK:
        _COUNT[0] += 1


def changes_made() -> int:
    """How many there were so far, of any index."""
    return _COUNT[0]
