"""The files of a Delta log that lead to one version of the table."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lakesieve.storage import ObjectInfo

_COMMIT = re.compile(r"(\d{20})\.json")
_COMPACTED = re.compile(r"(\d{20})\.(\d{20})\.compacted\.json")
_CHECKPOINT = re.compile(
    r"(?P<version>\d{20})\.checkpoint(?:\.(?P<part>\d{10})\.(?P<parts>\d{10})|\.(?P<uuid>[\w-]+))?"
    r"\.(?P<kind>parquet|json)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSegment:
    """The files that lead to one version.

    Args:
        version: The version's number.
        checkpoint: Files of the checkpoint that the version begins with; none is the first commit.
        commits: Commits after the checkpoint in order; one file may stand for several.
        last: The commit of the version itself; ``None`` where only a checkpoint is left of it.
    """

    version: int
    checkpoint: tuple[ObjectInfo, ...]
    commits: tuple[ObjectInfo, ...]
    last: ObjectInfo | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFiles:
    """Files of a log by their names.

    Args:
        commits: The commit of each version, in order.
        compacted: Files that stand for the commits of several versions, by first and last version.
        checkpoints: The files of each complete checkpoint, by version, in order.
    """

    commits: Mapping[int, ObjectInfo] = field(default_factory=dict)
    compacted: Mapping[tuple[int, int], ObjectInfo] = field(default_factory=dict)
    checkpoints: Mapping[int, tuple[ObjectInfo, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, infos: Iterable[ObjectInfo]) -> LogFiles:
        """Sort out what a listing has."""
        complete: dict[int, tuple[ObjectInfo, ...]] = {}
        parts: dict[tuple[int, int], list[ObjectInfo]] = {}
        commits: dict[int, ObjectInfo] = {}
        compacted: dict[tuple[int, int], ObjectInfo] = {}
        for info in sorted(infos, key=lambda info: info.path):
            if found := _COMMIT.fullmatch(info.path):
                commits[int(found[1])] = info
            elif found := _COMPACTED.fullmatch(info.path):
                compacted[int(found[1]), int(found[2])] = info
            elif found := _CHECKPOINT.fullmatch(info.path):
                number = int(found["version"])
                if found["parts"] is None:
                    complete[number] = (info,)
                else:
                    parts.setdefault((number, int(found["parts"])), []).append(info)
        for (number, count), of_all in parts.items():
            if len(of_all) == count:
                complete.setdefault(number, tuple(of_all))
        return cls(
            commits=dict(sorted(commits.items())),
            compacted=dict(sorted(compacted.items())),
            checkpoints=dict(sorted(complete.items())),
        )

    def __bool__(self) -> bool:
        return bool(self.commits or self.checkpoints)

    def segment(self, version: int | None) -> LogSegment | None:
        """The files that lead to a version; ``None`` where one is missing.

        Args:
            version: The version's number; ``None`` is the newest.
        """
        newest = max((*self.commits, *self.checkpoints), default=-1)
        wanted = newest if version is None else version
        start = max((number for number in self.checkpoints if number <= wanted), default=-1)
        needed = range(start + 1, wanted + 1)
        if newest < 0 or any(number not in self.commits for number in needed):
            return None
        return LogSegment(
            version=wanted,
            checkpoint=self.checkpoints.get(start, ()),
            commits=self._commits(needed),
            last=self.commits.get(wanted),
        )

    def _commits(self, needed: range) -> tuple[ObjectInfo, ...]:
        """The commits of versions, several from one file where there is one, as Spark does."""
        chosen = []
        at = needed.start
        by_first: dict[int, int] = {}
        for first, last in self.compacted:
            if first <= last and first in needed and last in needed:
                # of several files that begin alike, the shortest
                by_first.setdefault(first, last)
        while at in needed:
            last = by_first.get(at, at)
            chosen.append(self.compacted[at, last] if at in by_first else self.commits[at])
            at = last + 1
        return tuple(chosen)

    def earliest(self) -> int | None:
        """The first version that can still be read, if there is one."""
        if 0 in self.commits:
            return 0
        first = min(self.commits, default=None)
        if first is None:
            return None
        return next((number for number in self.checkpoints if number >= first - 1), None)
