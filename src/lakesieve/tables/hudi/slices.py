"""Find the file slices of a Hudi table, as Hudi's own view of the file system finds them."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from lakesieve.storage import ObjectInfo
    from lakesieve.tables.hudi.timeline import Timeline

_BASE = re.compile(r"(?P<group>[^_.][^_]*)_[^_]*_(?P<instant>\d+)\.parquet")
_LOG = re.compile(
    r"\.(?P<group>[^._]+)_(?P<instant>[^.]*)\.log\.(?P<number>\d+)"
    r"(?:_(?P<token>\d+-\d+-\d+)(?:\.cdc)?)?"
)
_MARKER = ".hoodie_partition_metadata"
# commits of bootstrapped tables, whose rows are in files of another table
_BOOTSTRAPPED = "00000000000001"


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFile:
    """A log file.

    ``instant`` is the commit that wrote it; before version 8, the commit of its base file.
    ``number`` is its position among the log files of one instant, and ``token`` identifies the task
    that wrote it.
    """

    instant: str
    number: int
    token: str
    info: ObjectInfo


@dataclass(frozen=True, slots=True, kw_only=True)
class FileSlice:
    """A base file and the log files that change its rows, beginning at one instant."""

    partition: str
    instant: str
    base: ObjectInfo | None = None
    logs: tuple[LogFile, ...] = ()

    @property
    def path(self) -> str:
        """Path of the base file; without one, of the newest log file."""
        if self.base is not None:
            return self.base.path
        return max(self.logs, key=_order).info.path

    @property
    def size(self) -> int:
        """Total bytes of the files."""
        return (self.base.size if self.base else 0) + sum(log.info.size for log in self.logs)

    @property
    def is_bootstrapped(self) -> bool:
        """True if some of its rows are in a file of another table."""
        return self.base is not None and self.instant == _BOOTSTRAPPED


@dataclass(slots=True)
class _Group:
    bases: dict[str, ObjectInfo] = field(default_factory=dict)
    logs: list[LogFile] = field(default_factory=list)


class FileGroups:
    """The files of a table, by file group. A file group holds a set of keys.

    Read the timeline before listing the files: otherwise, files of a commit in between are missing.
    Without partitions, only files directly in the table's folder count.

    Raises:
        UnsupportedError: The name of a base file is not understood.
    """

    def __init__(
        self, files: Iterable[ObjectInfo], timeline: Timeline, *, partitioned: bool
    ) -> None:
        self._timeline = timeline
        self._groups: dict[tuple[str, str], _Group] = defaultdict(_Group)
        folders: set[str] = set()
        named: list[tuple[str, str, ObjectInfo]] = []
        for info in files:
            folder, _, name = info.path.rpartition("/")
            if name.startswith(_MARKER):
                folders.add(folder)
            elif partitioned or not folder:
                named.append((folder, name, info))
        for folder, name, info in named:
            if folder in folders or not partitioned:
                self._add(folder, name, info)

    def _add(self, folder: str, name: str, info: ObjectInfo) -> None:
        if match := _BASE.fullmatch(name):
            bases = self._groups[folder, match["group"]].bases
            other = bases.get(match["instant"])
            if other is not None and self._timeline.is_committed(match["instant"]):
                info = self._written(match["instant"], other, info)
            bases[match["instant"]] = info
        elif match := _LOG.fullmatch(name):
            log = LogFile(
                instant=match["instant"],
                number=int(match["number"]),
                token=match["token"] or "",
                info=info,
            )
            self._groups[folder, match["group"]].logs.append(log)
        elif ".parquet" in name and not name.startswith("."):
            raise _unknown(info.path, "its name does not follow the naming of base files")

    def _written(self, instant: str, *files: ObjectInfo) -> ObjectInfo:
        """Return the file that a commit lists as written. Failed tasks left the other files."""
        paths = {one.get("path") for one in self._timeline.written(instant) or ()}
        matches = [info for info in files if info.path in paths]
        if len(matches) != 1:
            raise _unknown(files[-1].path, "several files belong to the same commit")
        return matches[0]

    def bases(self) -> list[ObjectInfo]:
        """Return all base files of complete commits."""
        return [
            info
            for group in self._groups.values()
            for instant, info in group.bases.items()
            if self._timeline.is_committed(instant)
        ]

    def slices(self, instant: str) -> list[FileSlice]:
        """Return the file slices of a version."""
        replaced = self._timeline.replaced(instant)
        compacted = self._timeline.compacted()
        chosen_slices = []
        for key, group in self._groups.items():
            if key in replaced:
                continue
            chosen = self._chosen(key[0], group, compacted.get(key), instant)
            if chosen is not None and (chosen.base is not None or chosen.logs):
                chosen_slices.append(chosen)
        return chosen_slices

    def _chosen(
        self, partition: str, group: _Group, compacted: str | None, instant: str
    ) -> FileSlice | None:
        """Return the newest slice of a group that is not later than an instant."""
        slices = self._all(partition, group, compacted)
        committed = [
            slices[start]
            for start in sorted(slices, reverse=True)
            if self._timeline.is_committed(start) and start <= instant
        ]
        if not committed:
            return None
        newest = committed[0]
        if self._timeline.completes_apart:
            logs = tuple(log for log in newest.logs if self._timeline.is_complete(log.instant))
            newest = replace(newest, logs=logs)
        if newest.instant != compacted or len(committed) == 1:
            return newest
        # while a compaction is incomplete, its new base file does not exist yet
        before = committed[1]
        return replace(before, instant=newest.instant, logs=(*before.logs, *newest.logs))

    def _all(self, partition: str, group: _Group, compacted: str | None) -> Mapping[str, FileSlice]:
        slices = {
            start: FileSlice(partition=partition, instant=start, base=info)
            for start, info in group.bases.items()
        }
        if compacted is not None and compacted not in slices:
            slices[compacted] = FileSlice(partition=partition, instant=compacted)
        for log in sorted(group.logs, key=_order):
            start = self._start(slices, log)
            file_slice = slices.get(start) or FileSlice(partition=partition, instant=start)
            slices[start] = replace(file_slice, logs=(*file_slice.logs, log))
        return slices

    def _start(self, slices: Mapping[str, FileSlice], log: LogFile) -> str:
        """Return the start of the slice to which a log file belongs."""
        if not slices or not self._timeline.completes_apart:
            return log.instant
        completed = self._timeline.completion(log.instant)
        if completed is None:
            return max(slices)
        return max((start for start in slices if start <= completed), default=log.instant)


def _order(log: LogFile) -> tuple[str, int, str]:
    return log.instant, log.number, log.token


def _unknown(path: str, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"{path} cannot be assigned to a file group: {why}.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint="Remove the file if no commit wrote it. lakesieve supports only base files with names "
        "of the form <file id>_<write token>_<instant>.parquet.",
    )
