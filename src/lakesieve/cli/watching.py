"""Commands that repeat after an interval until they are stopped."""

from __future__ import annotations

import re
import signal
import threading
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from lakesieve.cli.command import Run

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def seconds_between(watch: str | None, *, dry_run: bool) -> float | None:
    """Read an interval such as ``30s``, ``5m`` or ``1h`` in seconds; a bare number is seconds."""
    if watch is None:
        return None
    if dry_run:
        raise InvalidInputError(
            "A dry run cannot be repeated.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give --watch or --dry-run, not both.",
        )
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([smhd]?)", watch.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if seconds <= 0:
        raise InvalidInputError(
            f"{watch!r} is not an interval.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Write it as 30s, 5m or 1h.",
        )
    return seconds


def repeat(run: Run, seconds: float, act: Callable[[Callable[[], bool]], None]) -> None:
    """Act at once and then at intervals, counted from the end of one act to the next.

    The first SIGINT or SIGTERM ends it after the current act; a second one does what it did before.
    ``act`` is given a function that says whether to go on, for an act of several steps.
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
    run.output.say("Stopped.")
