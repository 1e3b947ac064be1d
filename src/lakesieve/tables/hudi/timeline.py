"""The timeline of a Hudi table, in both of its layouts.

Read here because what a library for rows leaves out matters to an index: commits that have moved to
the archive, plans of compactions, commits that are not complete. ``docs/design/0033`` compares.
"""

from __future__ import annotations

import io
import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.errors import ErrorKind, NotFoundError, StorageError, UnsupportedError
from lakesieve.tables.avro import check_decoded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from lakesieve.storage import Storage

FOLDER = ".hoodie"
"""Folder of the timeline and of the settings in that of the table."""

# that is not complete; a complete one is a commit
_COMPACTION = "compaction"

_PROPERTIES = "hoodie.properties"
_INSTANT = re.compile(
    r"(?P<requested>\d+)(?:_(?P<completed>\d+))?"
    # a commit at work is named by its time alone
    r"(?:\.(?P<action>(?!inflight$)[a-z]+))?(?:\.(?P<state>requested|inflight))?"
)
_ESCAPED = re.compile(r"\\(?:u(?P<unit>[0-9a-fA-F]{4})|(?P<plain>.))")
_WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
_NO_SCHEMA_OF = frozenset({"CLUSTER", "COMPACT", "INDEX", "LOG_COMPACT"})
_SECOND_LAYOUT = 8
_DAMAGE = (
    *(ValueError, EOFError, IndexError, KeyError, TypeError, AttributeError),
    pa.ArrowException,
)
_LARGEST = 1 << 31


@dataclass(frozen=True, slots=True, kw_only=True)
class Instant:
    """An action on a table, such as a ``commit``.

    ``requested`` is when it began, as Hudi writes times; it is its name. ``completed`` is when it
    was complete, where the layout says so. ``path`` is below the folder of the timeline.
    """

    requested: str
    action: str
    is_complete: bool
    completed: str | None
    path: str


def read_properties(table: Storage, name: str) -> dict[str, str]:
    """The settings of a table.

    Raises:
        NotFoundError: There is no table.
    """
    try:
        text = table.child(FOLDER).get(_PROPERTIES, most=_LARGEST).decode("utf-8", "replace")
    except NotFoundError as error:
        raise NotFoundError(
            f"There is no Hudi table at {table.location}.",
            kind=ErrorKind.TABLE_NOT_FOUND,
            hint=f"Name the folder that holds {FOLDER}: {name!r} does not.",
        ) from error
    found: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith(("#", "!")):
            found[key.strip()] = _ESCAPED.sub(_unescaped, value.strip())
    return found


def _unescaped(escape: re.Match[str]) -> str:
    """The character of an escape in a file of Java's ``Properties``."""
    return chr(int(escape["unit"], 16)) if escape["unit"] else escape["plain"]


def read_timeline(table: Storage, properties: Mapping[str, str], name: str) -> Timeline:
    """The timeline as it is now.

    Raises:
        StorageError: It cannot be listed.
        UnsupportedError: The settings name no version.
    """
    written = properties.get("hoodie.table.version", "0")
    if not re.fullmatch(r"[0-9]{1,4}", written, re.ASCII):
        raise UnsupportedError(
            f"{name} has the version {written!r}, which is no number.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint=f"Restore {FOLDER}/{_PROPERTIES}: no reader of the table can read it.",
        )
    version = int(written)
    folder = table.child(FOLDER)
    if version >= _SECOND_LAYOUT:
        folder = folder.child(properties.get("hoodie.timeline.path", "timeline"))
    names = [info.path for info in folder.objects("") if "/" not in info.path]
    return Timeline(folder, names, version, name)


class Timeline:
    """The actions on a table that its archive has not taken.

    The version of the table tells their layout; the name is that which the user called it by.
    """

    def __init__(self, folder: Storage, names: Sequence[str], version: int, name: str) -> None:
        self._folder = folder
        self._name = name
        self.version = version
        self._instants = _instants(names, has_times=self.completes_apart)

    @property
    def completes_apart(self) -> bool:
        """Whether instants and log files are known by two times, of the request and of the end."""
        return self.version >= _SECOND_LAYOUT

    @cached_property
    def commits(self) -> list[Instant]:
        """Complete commits, the oldest request first."""
        return [i for i in self._instants if i.is_complete and i.action in _WRITES]

    @cached_property
    def compactions(self) -> list[Instant]:
        """Compactions that are planned or at work, of which the plan is to be read."""
        return [i for i in self._instants if not i.is_complete and i.action == _COMPACTION]

    @cached_property
    def first_incomplete(self) -> str | None:
        """When the oldest commit began that is not complete; rewritings do not count."""
        open_ones = (
            i.requested for i in self._instants if not i.is_complete and i.action in _WRITES
        )
        return min(open_ones, default=None)

    @cached_property
    def _known(self) -> dict[str, str]:
        return {i.requested: i.completed or i.requested for i in self.commits}

    @cached_property
    def _seen(self) -> frozenset[str]:
        """Instants whose files can be part of a version: compactions hold new log files."""
        return frozenset(i.requested for i in (*self.commits, *self.compactions))

    @cached_property
    def _first(self) -> str:
        return min(self._seen, default="")

    @cached_property
    def _last(self) -> str:
        return max(self._seen, default="")

    def is_committed(self, instant: str) -> bool:
        """Whether a file slice that begins at an instant is part of the table."""
        return instant <= self._last and (instant in self._seen or instant < self._first)

    def is_complete(self, instant: str) -> bool:
        """Whether a commit took place, in the archive or before."""
        return instant in self._known or instant < self._first

    def completion(self, instant: str) -> str | None:
        """When a commit was complete; ``None`` for one that is not."""
        if instant in self._known:
            return self._known[instant]
        return self._archived.get(instant, instant) if instant < self._first else None

    @cached_property
    def _archived(self) -> dict[str, str]:
        """When commits of the archive were complete, by when they began."""
        archive = self._folder.child("history")
        found: dict[str, str] = {}
        try:
            newest = archive.get("_version_", most=_LARGEST)
            with self._reading("its archive"):
                manifest = json.loads(archive.get(f"manifest_{int(newest)}", most=_LARGEST))
                for file in manifest["files"]:
                    inside = str(file["fileName"]).rpartition("/")[2]
                    data = pa.BufferReader(archive.get(inside, most=_LARGEST))
                    rows = pq.read_table(data, columns=["instantTime", "completionTime"])
                    times = (column.to_pylist() for column in rows.columns)
                    found.update(zip(*times, strict=True))
        except NotFoundError:
            return {}
        return found

    def latest(self, instant: str | None = None) -> Instant | None:
        """The newest complete commit."""
        known = [i for i in self.commits if instant is None or i.requested <= instant]
        return known[-1] if known else None

    def _said(self, instants: Sequence[Instant]) -> list[dict[str, Any]]:
        """What actions say of themselves."""
        paths = [instant.path for instant in instants]
        data = self._folder.get_all(paths, most=_LARGEST)
        return [self._record(*one) for one in zip(paths, data, strict=True)]

    def _record(self, path: str, data: bytes) -> dict[str, Any]:
        with self._reading(path):
            if data.startswith(b"{"):
                found = json.loads(data)
            else:
                if data:
                    check_decoded(data)
                found = next(iter(fastavro.reader(io.BytesIO(data))), {}) if data else {}
            if not isinstance(found, dict):
                raise TypeError("it holds no record")
        return found

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        """Name the part of the timeline that is damaged."""
        try:
            yield
        except _DAMAGE as error:
            raise StorageError(
                f"The timeline of {self._name} cannot be read: {path}: {error!r}.",
                kind=ErrorKind.STORAGE_FAILED,
                hint="No reader of the table can read it; restore the timeline.",
            ) from error

    def schemas(self, instant: str | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield what commits say of themselves that have a schema, the newest first."""
        if instant is None:
            order = sorted(self.commits, key=lambda i: i.completed or i.requested, reverse=True)
        else:
            order = [i for i in reversed(self.commits) if i.requested <= instant]
        for one in order:
            (found,) = self._said([one])
            if instant == one.requested or found.get("operationType") not in _NO_SCHEMA_OF:
                yield found.get("extraMetadata") or {}

    def written(self, instant: str) -> list[Mapping[str, Any]] | None:
        """Return what a commit says of each file that it wrote; ``None`` if it is not there."""
        commit = self.latest(instant)
        if commit is None or commit.requested != instant:
            return None
        (said,) = self._said([commit])
        with self._reading(commit.path):
            parts = (said.get("partitionToWriteStats") or {}).values()
            return [one for part in parts for one in part]

    def replaced(self, instant: str) -> set[tuple[str, str]]:
        """File groups, by partition and id, that commits until an instant have replaced."""
        commits = [
            one
            for one in self.commits
            if one.action == "replacecommit" and one.requested <= instant
        ]
        found: set[tuple[str, str]] = set()
        for one, said in zip(commits, self._said(commits), strict=True):
            with self._reading(one.path):
                replaced = (said.get("partitionToReplaceFileIds") or {}).items()
                found.update((part, group) for part, ids in replaced for group in ids)
        return found

    def compacted(self) -> dict[tuple[str, str], str]:
        """When compactions began that are not complete, by partition and id of the file group."""
        found: dict[tuple[str, str], str] = {}
        for one, said in zip(self.compactions, self._said(self.compactions), strict=True):
            with self._reading(one.path):
                for operation in said.get("operations") or ():
                    found[operation["partitionPath"], operation["fileId"]] = one.requested
        return found

    @cached_property
    def kept_from(self) -> str:
        """The oldest instant that can be read: cleaning has left what it needs."""
        cleans = [i for i in self._instants if i.is_complete and i.action == "clean"]
        if not cleans:
            return ""
        (said,) = self._said(cleans[-1:])
        earliest = said.get("earliestCommitToRetain")
        return str(earliest or min((i.requested for i in self.commits), default=""))


def _instants(names: Collection[str], *, has_times: bool) -> list[Instant]:
    """The actions by the files that stand for their states, the oldest request first."""
    found: dict[tuple[str, str], Instant] = {}
    for name in sorted(names):
        parts = _INSTANT.fullmatch(name)
        if parts is None or not (parts["action"] or parts["state"]):
            continue
        action = parts["action"] or "commit"
        complete = parts["state"] is None and (not has_times or parts["completed"] is not None)
        instant = Instant(
            requested=parts["requested"],
            action=action,
            is_complete=complete,
            completed=parts["completed"],
            path=name,
        )
        key = (instant.requested, _family(action))
        known = found.get(key)
        # the plan of an action is in the file of its request
        if known is None or (complete, _is_request(name)) > (
            known.is_complete,
            _is_request(known.path),
        ):
            found[key] = instant
    return sorted(found.values(), key=lambda i: (i.requested, i.action))


def _is_request(name: str) -> bool:
    return name.endswith(".requested")


def _family(action: str) -> str:
    """What an action becomes once it is complete."""
    becomes = {
        _COMPACTION: "commit",
        "logcompaction": "deltacommit",
        "clustering": "replacecommit",
    }
    return becomes.get(action, action)
