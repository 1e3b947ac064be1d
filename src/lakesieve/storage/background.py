"""Run work in daemon threads, so that a query can stop waiting for it."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_T = TypeVar("_T")
MAX_THREADS = 8
"""Most calls of one caller that run at the same time."""


class Background(Future[_T]):
    """One call in a daemon thread.

    The executors of the standard library do not use daemon threads, so they keep a process alive.
    """

    def __init__(self, work: Callable[[], _T]) -> None:
        super().__init__()
        self._work = work
        threading.Thread(target=self._run, name="lakesieve", daemon=True).start()

    @property
    def is_done(self) -> bool:
        """True if the call has ended, with a result or an error."""
        return self.done()

    def wait(self, until: float | None) -> bool:
        """Wait until the call ends or ``time.monotonic()`` reaches a time. Return ``is_done``."""
        with suppress(TimeoutError):
            self.exception(None if until is None else max(until - time.monotonic(), 0))
        return self.done()

    def _run(self) -> None:
        try:
            self.set_result(self._work())
        except BaseException as error:  # noqa: BLE001 - raised again where the result is taken
            self.set_exception(error)


def all_at_once(calls: Sequence[Callable[[], _T]], threads: int = MAX_THREADS) -> list[_T]:
    """Run several calls in threads, and return their results in order.

    It is meant for calls that mostly wait for storage.
    """
    if len(calls) <= 1:
        return [call() for call in calls]
    results: dict[int, _T] = {}
    remaining = iter(range(len(calls)))
    lock = threading.Lock()

    def run() -> None:
        while True:
            with lock:
                number = next(remaining, None)
            if number is None:
                return
            results[number] = calls[number]()

    for worker in [Background(run) for _ in range(min(threads, len(calls)))]:
        worker.result()
    return [results[number] for number in range(len(calls))]
