"""Read the timeline of a Hudi table, in both of its layouts.

Libraries that read rows leave out what an index needs: archived commits, plans of compactions, and
incomplete commits. ``docs/design/0033`` compares this reader with such libraries.
"""

from __future__ import annotations

import io
import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.errors import ErrorKind, NotFoundError, StorageError, UnsupportedError
from lakesieve.tables.avro import check_decoded

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from lakesieve.storage import Storage

FOLDER = ".hoodie"
"""The folder in the table's folder that contains the timeline and the settings."""

# action of an incomplete compaction; a complete one is a commit
_COMPACTION = "compaction"

_PROPERTIES = "hoodie.properties"
_INSTANT = re.compile(
    r"(?P<requested>\d+)(?:_(?P<completed>\d+))?"
    # the file of a commit that is in progress may have no action in its name
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

    ``requested`` is the time when it began, as Hudi writes times, and also its name. ``completed``
    is the time when it was complete, if the layout has this time. ``path`` is relative to the
    timeline's folder.
    """

    requested: str
    action: str
    is_complete: bool
    completed: str | None
    path: str


def read_properties(table: Storage, name: str) -> dict[str, str]:
    """Read the settings of a table.

    Raises:
        NotFoundError: The folder is not a Hudi table.
    """
    try:
        text = table.child(FOLDER).get(_PROPERTIES, most=_LARGEST).decode("utf-8", "replace")
    except NotFoundError as error:
        raise NotFoundError(
            f"No Hudi table exists at {table.location}.",
            kind=ErrorKind.TABLE_NOT_FOUND,
            hint=f"Give the folder that contains {FOLDER}. {name!r} does not contain it.",
        ) from error
    properties: dict[str, str] = {}
    for line in text.splitlines():
        key, equals, value = line.strip().partition("=")
        if equals and not key.startswith(("#", "!")):
            properties[key.strip()] = _ESCAPED.sub(_unescaped, value.strip())
    return properties


def _unescaped(escape: re.Match[str]) -> str:
    """Return the character of an escape in a file of Java's ``Properties``."""
    return chr(int(escape["unit"], 16)) if escape["unit"] else escape["plain"]


def read_timeline(table: Storage, properties: Mapping[str, str], name: str) -> Timeline:
    """Read the current timeline.

    Raises:
        StorageError: The timeline cannot be listed.
        UnsupportedError: The settings contain no version.
    """
    written = properties.get("hoodie.table.version", "0")
    if not re.fullmatch(r"[0-9]{1,4}", written, re.ASCII):
        raise UnsupportedError(
            f"{name} has the table version {written!r}, which is not a number.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint=f"Restore {FOLDER}/{_PROPERTIES}: other readers cannot read it either.",
        )
    version = int(written)
    folder = table.child(FOLDER)
    if version >= _SECOND_LAYOUT:
        folder = folder.child(properties.get("hoodie.timeline.path", "timeline"))
    names = [info.path for info in folder.objects("") if "/" not in info.path]
    return Timeline(folder, names, version, name)


class Timeline:
    """The actions on a table that are not archived.

    The layout depends on the version of the table. ``name`` is the name by which the user called
    it.
    """

    def __init__(self, folder: Storage, names: Sequence[str], version: int, name: str) -> None:
        self._folder = folder
        self._name = name
        self.version = version
        self._instants = _instants(names, has_times=self.completes_apart)

    @property
    def completes_apart(self) -> bool:
        """True if instants and log files have two times: of the request and of the completion."""
        return self.version >= _SECOND_LAYOUT

    @cached_property
    def commits(self) -> list[Instant]:
        """Complete commits, the oldest request first."""
        return [i for i in self._instants if i.is_complete and i.action in _WRITES]

    @cached_property
    def compactions(self) -> list[Instant]:
        """Incomplete compactions, whose plans must be read."""
        return [i for i in self._instants if not i.is_complete and i.action == _COMPACTION]

    @cached_property
    def first_incomplete(self) -> str | None:
        """Start of the oldest incomplete commit that changes rows, or ``None``."""
        open_ones = (
            i.requested for i in self._instants if not i.is_complete and i.action in _WRITES
        )
        return min(open_ones, default=None)

    @cached_property
    def _known(self) -> dict[str, str]:
        return {i.requested: i.completed or i.requested for i in self.commits}

    @cached_property
    def _seen(self) -> frozenset[str]:
        """Instants whose files can belong to a version. Compactions have new log files."""
        return frozenset(i.requested for i in (*self.commits, *self.compactions))

    @cached_property
    def _first(self) -> str:
        return min(self._seen, default="")

    @cached_property
    def _last(self) -> str:
        return max(self._seen, default="")

    def is_committed(self, instant: str) -> bool:
        """Return whether the file slice that begins at an instant is part of the table."""
        return instant <= self._last and (instant in self._seen or instant < self._first)

    def is_complete(self, instant: str) -> bool:
        """Return whether a commit is complete, in the archive or before it."""
        return instant in self._known or instant < self._first

    def completion(self, instant: str) -> str | None:
        """Return when a commit was completed, or ``None`` if it is incomplete."""
        if instant in self._known:
            return self._known[instant]
        return self._archived.get(instant, instant) if instant < self._first else None

    @cached_property
    def _archived(self) -> dict[str, str]:
        """Completion times of archived commits, by their start."""
        archive = self._folder.child("history")
        completed: dict[str, str] = {}
        try:
            newest = archive.get("_version_", most=_LARGEST)
            with self._reading("its archive"):
                manifest = json.loads(archive.get(f"manifest_{int(newest)}", most=_LARGEST))
                for file in manifest["files"]:
                    inside = str(file["fileName"]).rpartition("/")[2]
                    data = pa.BufferReader(archive.get(inside, most=_LARGEST))
                    rows = pq.read_table(data, columns=["instantTime", "completionTime"])
                    times = (column.to_pylist() for column in rows.columns)
                    completed.update(zip(*times, strict=True))
        except NotFoundError:
            return {}
        return completed

    def latest(self, instant: str | None = None) -> Instant | None:
        """Return the newest complete commit, up to an instant."""
        commits = [i for i in self.commits if instant is None or i.requested <= instant]
        return commits[-1] if commits else None

    def _documents(self, instants: Sequence[Instant]) -> list[dict[str, Any]]:
        """Read the documents of some actions."""
        paths = [instant.path for instant in instants]
        data = self._folder.get_all(paths, most=_LARGEST)
        return [self._record(*one) for one in zip(paths, data, strict=True)]

    def _record(self, path: str, data: bytes) -> dict[str, Any]:
        # workers of Spark import this module, and may lack the library
        import fastavro

        with self._reading(path):
            if data.startswith(b"{"):
                record = json.loads(data)
            else:
                if data:
                    check_decoded(data)
                record = next(iter(fastavro.reader(io.BytesIO(data))), {}) if data else {}
            if not isinstance(record, dict):
                raise TypeError("it contains no record")
        return record

    @contextmanager
    def _reading(self, path: str) -> Iterator[None]:
        """Turn errors into one that names the damaged part of the timeline."""
        try:
            yield
        except _DAMAGE as error:
            raise StorageError(
                f"The timeline of {self._name} cannot be read: {path}: {error!r}.",
                kind=ErrorKind.STORAGE_FAILED,
                hint="Other readers cannot read it either. Restore the timeline.",
            ) from error

    def schemas(self, instant: str | None = None) -> Iterator[Mapping[str, Any]]:
        """Yield the documents of commits that contain a schema, the newest first."""
        if instant is None:
            order = sorted(self.commits, key=lambda i: i.completed or i.requested, reverse=True)
        else:
            order = [i for i in reversed(self.commits) if i.requested <= instant]
        for one in order:
            (document,) = self._documents([one])
            if instant == one.requested or document.get("operationType") not in _NO_SCHEMA_OF:
                yield document.get("extraMetadata") or {}

    def written(self, instant: str) -> list[Mapping[str, Any]] | None:
        """Return a commit's record of each file that it wrote, or ``None`` without the commit."""
        commit = self.latest(instant)
        if commit is None or commit.requested != instant:
            return None
        (document,) = self._documents([commit])
        with self._reading(commit.path):
            parts = (document.get("partitionToWriteStats") or {}).values()
            return [one for part in parts for one in part]

    def replaced(self, instant: str) -> set[tuple[str, str]]:
        """Return the file groups (partition, id) that commits up to an instant have replaced."""
        commits = [
            one
            for one in self.commits
            if one.action == "replacecommit" and one.requested <= instant
        ]
        groups: set[tuple[str, str]] = set()
        for one, document in zip(commits, self._documents(commits), strict=True):
            with self._reading(one.path):
                replaced = (document.get("partitionToReplaceFileIds") or {}).items()
                groups.update((part, group) for part, ids in replaced for group in ids)
        return groups

    def compacted(self) -> dict[tuple[str, str], str]:
        """Return the starts of incomplete compactions, by partition and id of the file group."""
        starts: dict[tuple[str, str], str] = {}
        for one, document in zip(self.compactions, self._documents(self.compactions), strict=True):
            with self._reading(one.path):
                for operation in document.get("operations") or ():
                    starts[operation["partitionPath"], operation["fileId"]] = one.requested
        return starts

    @cached_property
    def kept_from(self) -> str:
        """The oldest instant that can be read. Cleaning may have removed files of earlier ones."""
        cleans = [i for i in self._instants if i.is_complete and i.action == "clean"]
        if not cleans:
            return ""
        (document,) = self._documents(cleans[-1:])
        earliest = document.get("earliestCommitToRetain")
        return str(earliest or min((i.requested for i in self.commits), default=""))


def _instants(names: Collection[str], *, has_times: bool) -> list[Instant]:
    """Return the actions, from the files for their states, the oldest request first."""
    instants: dict[tuple[str, str], Instant] = {}
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
        earlier = instants.get(key)
        # the plan of an action is in its request file
        if earlier is None or (complete, _is_request(name)) > (
            earlier.is_complete,
            _is_request(earlier.path),
        ):
            instants[key] = instant
    return sorted(instants.values(), key=lambda i: (i.requested, i.action))


def _is_request(name: str) -> bool:
    return name.endswith(".requested")


def _family(action: str) -> str:
    """Return the action that an action becomes once it is complete."""
    becomes = {
        _COMPACTION: "commit",
        "logcompaction": "deltacommit",
        "clustering": "replacecommit",
    }
    return becomes.get(action, action)
