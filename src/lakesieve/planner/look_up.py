"""The look-up for one scan, which may outlast the query that asked for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lakesieve.index import Reason, ReasonCode
from lakesieve.storage import Background

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.index import IndexRegistry, OpenedIndex
    from lakesieve.storage import Storage


class LookUp:
    """A look-up for one scan, in a thread that goes on when the query no longer waits.

    Then what it reads is at hand for the next query.

    Args:
        until: How long the query waits, as ``time.monotonic()`` has it.
    """

    task: Background[dict[str, Any]]

    def __init__(self, registry: IndexRegistry, until: float) -> None:
        self.registry = registry
        self.until = until
        self._index: OpenedIndex | None = None
        self._given_up: Storage | None = None

    def start(self, work: Callable[[], dict[str, Any]]) -> None:
        """Begin the look-up."""

        def run() -> dict[str, Any]:
            result = work()
            if self._given_up is not None:
                self.registry.wake(self._given_up)
            return result

        self.task = Background(run)

    def visit(self, index: OpenedIndex | None) -> None:
        """Hear which index is read now."""
        self._index = index

    def give_up(self) -> Reason:
        """Give up waiting for the root, and return the coded reason."""
        index = self._index
        if index is None:
            detail = "planning took longer than the query waits for it"
            return Reason(code=ReasonCode.PLANNING_TIMEOUT, detail=detail)
        root = index.storage.parent
        self._given_up = root
        reason = self.registry.rest(root)
        if self.task.is_done:
            self.registry.wake(root)
        return reason
