"""A storage that fails on purpose, once, at a chosen call."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from lakesieve.errors import ErrorKind, StorageError
from lakesieve.storage import ObjectInfo, Storage

if TYPE_CHECKING:
    from collections.abc import Callable

_NUMBER = re.compile(r"log/(\d{20})\.")
_T = TypeVar("_T")


class Fault(StrEnum):
    """What can go wrong with a call."""

    CRASH_BEFORE = "crash-before"
    """The process ends before the call."""
    CRASH_AFTER = "crash-after"
    """The process ends after the call."""
    LOST_RESPONSE = "lost-response"
    """The call takes effect, but the caller sees a failure."""
    DUPLICATE = "duplicate"
    """The call takes effect twice, as when a client repeats it; the second answer is returned."""
    STALE_LIST = "stale-list"
    """A listing lacks what was written last; another call is as ever."""


class Crash(BaseException):
    """The end of a process: nothing but the test may catch it."""


@dataclass(slots=True, kw_only=True)
class FaultPlan:
    """When which fault strikes, and what was called; shared by all storages of one process.

    Args:
        fault: What goes wrong.
        at: In which call, from 0; -1 for none.
        calls: The calls so far.
        has_crashed: Whether the process has ended: then no call does anything.
    """

    fault: Fault = Fault.CRASH_BEFORE
    at: int = -1
    calls: list[str] = field(default_factory=list)
    has_crashed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultyStorage(Storage):
    """A storage to which a planned fault happens.

    Args:
        plan: When what goes wrong.
    """

    plan: FaultPlan = field(default_factory=FaultPlan, compare=False)

    # without super(): a slotted dataclass is another class than the one its methods were made in

    def get(self, path: str, *, most: int | None = None) -> bytes:
        """As the storage does, unless a fault happens."""
        return self._run("get", path, lambda: Storage.get(self, path, most=most))

    def get_range(self, path: str, start: int, length: int) -> bytes:
        """As the storage does, unless a fault happens."""
        return self._run("get", path, lambda: Storage.get_range(self, path, start, length))

    def head(self, path: str) -> ObjectInfo:
        """As the storage does, unless a fault happens."""
        return self._run("head", path, lambda: Storage.head(self, path))

    def create(self, path: str, data: bytes) -> None:
        """As the storage does, unless a fault happens."""
        self._run("create", path, lambda: Storage.create(self, path, data))

    def replace(self, path: str, data: bytes) -> None:
        """As the storage does, unless a fault happens."""
        self._run("replace", path, lambda: Storage.replace(self, path, data))

    def delete(self, path: str) -> None:
        """As the storage does, unless a fault happens."""
        self._run("delete", path, lambda: Storage.delete(self, path))

    def objects(self, prefix: str, *, after: str = "") -> list[ObjectInfo]:
        """As the storage does, unless a fault happens."""

        def act() -> list[ObjectInfo]:
            return Storage.objects(self, prefix, after=after)

        stale = self._strikes() and self.plan.fault is Fault.STALE_LIST
        listed = self._run("list", prefix, act)
        return _without_newest(listed) if stale else listed

    def _strikes(self) -> bool:
        return len(self.plan.calls) == self.plan.at

    def _run(self, call: str, path: str, act: Callable[[], _T]) -> _T:
        plan = self.plan
        if plan.has_crashed:
            raise Crash
        strikes = self._strikes()
        plan.calls.append(f"{call} {path}")
        if not strikes or plan.fault is Fault.STALE_LIST:
            return act()
        if plan.fault is Fault.DUPLICATE:
            act()
            return act()
        plan.has_crashed = plan.fault in {Fault.CRASH_BEFORE, Fault.CRASH_AFTER}
        if plan.fault is Fault.CRASH_BEFORE:
            raise Crash
        act()
        if plan.fault is Fault.CRASH_AFTER:
            raise Crash
        raise StorageError(
            f"{self.location}/{path}: the answer was lost.",
            kind=ErrorKind.STORAGE_FAILED,
            hint="Try again.",
        )


def _without_newest(listed: list[ObjectInfo]) -> list[ObjectInfo]:
    numbers = [match[1] for info in listed if (match := _NUMBER.match(info.path))]
    if numbers:
        return [info for info in listed if f"log/{max(numbers)}." not in info.path]
    return sorted(listed, key=lambda info: info.modified)[:-1]
