"""A storage that hangs in every look-up until it is told to go on."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from lakesieve.index import OpenedIndex

if TYPE_CHECKING:
    import pytest

    from lakesieve.index import Candidates
    from lakesieve.predicate import Ranges

__all__ = ["Gate"]


class Gate:
    """Holds all look-ups up until it is opened."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.event = threading.Event()
        self.calls = 0
        may_match = OpenedIndex.may_match

        def slow(index: OpenedIndex, ranges: Ranges) -> Candidates | None:
            self.calls += 1
            self.event.wait(30)
            return may_match(index, ranges)

        monkeypatch.setattr(OpenedIndex, "may_match", slow)
