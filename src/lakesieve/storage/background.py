"""Work that goes on in threads of its own, so that a query can stop waiting for it."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_T = TypeVar("_T")
MAX_THREADS = 8
"""Calls of one caller that are under way at a time."""


class Background(Generic[_T]):
    """One call in a daemon thread, which does not keep the process alive."""

    def __init__(self, work: Callable[[], _T]) -> None:
        self._work = work
        self._done = threading.Event()
        self._error: BaseException | None = None
        self._value: list[_T] = []
        threading.Thread(target=self._run, name="lakesieve", daemon=True).start()

    @property
    def is_done(self) -> bool:
        """Whether the call has ended, well or not."""
        return self._done.is_set()

    def wait(self, until: float | None) -> bool:
        """Wait for the end of the call.

        Returns:
            Whether it has ended.
        """
        return self._done.wait(None if until is None else max(until - time.monotonic(), 0))

    def result(self) -> _T:
        """What the call returned; its error is raised. Waits without end."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        return self._value[0]

    def _run(self) -> None:
        try:
            self._value.append(self._work())
        except BaseException as error:  # noqa: BLE001 - raised again where the result is taken
            self._error = error
        finally:
            self._done.set()


def all_at_once(calls: Sequence[Callable[[], _T]], threads: int = MAX_THREADS) -> list[_T]:
    """What several calls return that mostly wait for storage, in their order."""
    if len(calls) <= 1:
        return [call() for call in calls]
    results: list[list[_T]] = [[] for _ in calls]
    left = iter(list(enumerate(calls)))
    lock = threading.Lock()

    def run() -> None:
        while True:
            with lock:
                number, call = next(left, (-1, None))
            if call is None:
                return
            results[number].append(call())

    for worker in [Background(run) for _ in range(min(threads, len(calls)))]:
        worker.result()
    return [result[0] for result in results]
