"""Doing the same again and again until somebody asks to stop."""

from __future__ import annotations

import re
import signal
import threading
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def seconds_of(interval: str) -> float:
    """Read an interval such as ``30s``, ``5m`` or ``1h``; a bare number is seconds."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", interval.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if seconds <= 0:
        raise InvalidInputError(
            f"{interval!r} is not an interval.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Write it as 30s, 5m or 1h.",
        )
    return seconds


def every(seconds: float, act: Callable[[Callable[[], bool]], None]) -> None:
    """Act at once and then at intervals, counted from the end of one act to the next.

    The first SIGINT or SIGTERM ends it after the current act; a second one does what it
    did before.
    """
    stop = threading.Event()
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()
        restore()

    for number in _SIGNALS:
        signal.signal(number, on_signal)
    try:
        while not stop.is_set():
            act(lambda: not stop.is_set())
            stop.wait(seconds)
    finally:
        restore()
