"""Find the files of a Delta log that are needed for one version of the table."""

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
    """The log files that are needed for one version.

    Args:
        version: The version's number.
        checkpoint: Files of the checkpoint to start from; empty to start from the first commit.
        commits: Commits after the checkpoint, in order. One file may contain several commits.
        last: The commit of the version itself; ``None`` if only a checkpoint of it remains.
    """

    version: int
    checkpoint: tuple[ObjectInfo, ...]
    commits: tuple[ObjectInfo, ...]
    last: ObjectInfo | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFiles:
    """The files of a log, by kind.

    Args:
        commits: The commit of each version, in order.
        compacted: Files that contain several commits, by first and last version.
        checkpoints: The files of each complete checkpoint, by version, in order.
    """

    commits: Mapping[int, ObjectInfo] = field(default_factory=dict)
    compacted: Mapping[tuple[int, int], ObjectInfo] = field(default_factory=dict)
    checkpoints: Mapping[int, tuple[ObjectInfo, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, infos: Iterable[ObjectInfo]) -> LogFiles:
        """Sort the files of a listing by kind."""
        commits: dict[int, ObjectInfo] = {}
        compacted: dict[tuple[int, int], ObjectInfo] = {}
        whole: dict[int, tuple[ObjectInfo, ...]] = {}
        parts: dict[tuple[int, int], list[ObjectInfo]] = {}
        for info in sorted(infos, key=lambda info: info.path):
            if match := _COMMIT.fullmatch(info.path):
                commits[int(match[1])] = info
            elif match := _COMPACTED.fullmatch(info.path):
                compacted[int(match[1]), int(match[2])] = info
            elif match := _CHECKPOINT.fullmatch(info.path):
                if match["parts"] is None:
                    whole[int(match["version"])] = (info,)
                else:
                    parts.setdefault((int(match["version"]), int(match["parts"])), []).append(info)
        complete = {v: tuple(found) for (v, count), found in parts.items() if len(found) == count}
        checkpoints = dict(sorted((complete | whole).items()))
        return cls(commits=commits, compacted=compacted, checkpoints=checkpoints)

    def __bool__(self) -> bool:
        return bool(self.commits or self.checkpoints)

    def segment(self, version: int | None) -> LogSegment | None:
        """Return the files that are needed for a version, or ``None`` if one is missing.

        Args:
            version: The version's number; ``None`` for the newest version.
        """
        newest = max((*self.commits, *self.checkpoints), default=-1)
        target = newest if version is None else version
        start = max((number for number in self.checkpoints if number <= target), default=-1)
        needed = range(start + 1, target + 1)
        if newest < 0 or any(number not in self.commits for number in needed):
            return None
        return LogSegment(
            version=target,
            checkpoint=self.checkpoints.get(start, ()),
            commits=self._commits(needed),
            last=self.commits.get(target),
        )

    def _commits(self, needed: range) -> tuple[ObjectInfo, ...]:
        """Return the commits of a range of versions.

        Like Spark, prefer files with several commits.
        """
        chosen = []
        at = needed.start
        by_first: dict[int, int] = {}
        for first, last in self.compacted:
            if first <= last and first in needed and last in needed:
                # of several files with the same first version, take the shortest
                by_first.setdefault(first, last)
        while at in needed:
            last = by_first.get(at, at)
            chosen.append(self.compacted[at, last] if at in by_first else self.commits[at])
            at = last + 1
        return tuple(chosen)

    def earliest(self) -> int | None:
        """Return the first version that can still be read."""
        if 0 in self.commits:
            return 0
        first = min(self.commits, default=None)
        if first is None:
            return None
        return next((number for number in self.checkpoints if number >= first - 1), None)
