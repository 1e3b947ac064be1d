"""The log of one index: commits made by exclusive create, checkpoints, replay."""

from __future__ import annotations

import contextlib
import re
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.errors import (
    CorruptIndexError,
    ErrorKind,
    LakesieveError,
    NotFoundError,
    StorageError,
    corrupt,
)
from lakesieve.format import MAX_DOCUMENT_BYTES, Checkpoint, Commit, pack, unpack
from lakesieve.store.snapshot import Replay, Snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lakesieve.storage import Storage

CHECKPOINT_INTERVAL = 10
"""Number of commits from one checkpoint to the next."""

FOLDERS = ("log", "segments", "files", "borrowers")
"""Folders below the root of an index."""

OBJECT_NAMES = re.compile(
    r"log/(?:\d{20}(?:\.checkpoint)?\.json|_last_checkpoint)"
    r"|segments/[0-9a-f]{40}\.sieve"
    r"|files/[0-9a-f]{40}\.parquet"
    r"|borrowers/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.json"
    r"|_probe-[0-9a-f]{1,32}",
    re.ASCII,
)
"""Paths of the objects that this version and earlier ones write. Nothing else is ever deleted."""

HINT = "log/_last_checkpoint"
_OBJECT = re.compile(r"log/(\d{20})(\.checkpoint)?\.json")
# how often a reader starts again if a vacuum shortens the log meanwhile
_LOOKS = 4
_BATCH = 64

_CHANGES_LOCK = threading.Lock()
_CHANGES = [0]


def note_change() -> None:
    """Count a commit or a drop that this process has made."""
    with _CHANGES_LOCK:
        _CHANGES[0] += 1


def changes_made() -> int:
    """Return how many changes this process has made to any index.

    If the number grew, cached listings of object stores are out of date.
    """
    return _CHANGES[0]


def is_object(path: str) -> bool:
    """Return whether a path below the root of an index is one that lakesieve writes."""
    return OBJECT_NAMES.fullmatch(path) is not None


def commit_path(number: int) -> str:
    """Return the path of a commit."""
    return f"log/{number:020d}.json"


def checkpoint_path(number: int) -> str:
    """Return the path of a checkpoint."""
    return f"log/{number:020d}.checkpoint.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Numbers of the existing commits and checkpoints, ascending."""

    commits: tuple[int, ...]
    checkpoints: tuple[int, ...]

    def upto(self, number: int) -> Listing:
        """Return the commits and checkpoints up to ``number``."""
        return Listing(
            commits=tuple(n for n in self.commits if n <= number),
            checkpoints=tuple(n for n in self.checkpoints if n <= number),
        )


class CommitLog:
    """The log of one index."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    def latest(self) -> Snapshot:
        """Return the state after the last commit. It reads a bounded number of objects."""
        for attempts in reversed(range(_LOOKS)):
            try:
                return self._latest()
            except NotFoundError as error:
                # a listed object is gone, because a vacuum has just shortened the log
                if error.kind is not ErrorKind.OBJECT_NOT_FOUND or not attempts:
                    raise
        raise AssertionError("unreachable")

    def at(self, number: int, first: int) -> Snapshot:
        """Return the state after one commit."""
        listing = self.listing(max(first, 0)).upto(number)
        return self._from_checkpoint(listing) or self._from_root(listing)

    def states(self, first: int, last: int) -> Iterator[tuple[Commit, Snapshot]]:
        """Yield commits in order, each with the state after it."""
        replay = Replay(self.at(first, first))
        for commit in self.commits(first, last):
            if commit.number > first:
                replay.apply(commit)
            yield commit, replay.snapshot()

    def commits(self, first: int, last: int) -> Iterator[Commit]:
        """Yield commits in order."""
        for numbers in _batches(range(first, last + 1)):
            data = self._documents([commit_path(number) for number in numbers])
            yield from map(_commit, data, numbers)

    def since(self, number: int) -> list[Commit]:
        """Return the commits after ``number``, without a listing, which may be stale."""
        commits: list[Commit] = []
        with contextlib.suppress(NotFoundError):
            while True:
                commits.append(self.read(number + 1 + len(commits)))
        return commits

    def read(self, number: int) -> Commit:
        """Read one commit."""
        return _commit(self._documents([commit_path(number)])[0], number)

    def holds(self, number: int, write_id: str) -> bool:
        """Return whether a commit in the log has this write id."""
        try:
            return self.read(number).write_id == write_id
        except NotFoundError:
            return False

    def land(self, commit: Commit) -> bool:
        """Create the commit's file. Return false if another writer was first."""
        try:
            self._storage.create(commit_path(commit.number), pack(commit.to_json()))
        except StorageError as error:
            # if the response of a create is lost, only the file shows whether the create succeeded
            if error.kind is ErrorKind.ALREADY_EXISTS:
                return self.holds(commit.number, commit.write_id)
            if error.kind is not ErrorKind.STORAGE_FAILED:
                raise
            try:
                return self.read(commit.number).write_id == commit.write_id
            except NotFoundError:
                raise error from None
        finally:
            note_change()
        return True

    def is_linked(self, commit: Commit) -> bool:
        """Return whether a commit whose file was created is part of the log.

        It is not, if meanwhile a vacuum deleted its base or the index was dropped. Then its number
        was free, but the file is not at the end of the log.
        """
        later = self.listing(commit.number + 1)
        if later.commits:
            following = self.read(later.commits[0])
            return following.number == commit.number + 1 and following.parent_id == commit.write_id
        return self.holds(commit.number - 1, commit.parent_id)

    def write_checkpoint(self, snapshot: Snapshot, *, hint: bool = True) -> bool:
        """Write a checkpoint, so that readers need not replay all commits.

        If the write fails, a later commit writes a checkpoint.

        Returns:
            True if the checkpoint was written, false if the state is too large for one document.
        """
        data = pack(snapshot.to_checkpoint().to_json())
        if len(data) > MAX_DOCUMENT_BYTES:
            return False
        # every writer writes the same bytes, so replacing also repairs a damaged checkpoint
        self._storage.replace(checkpoint_path(snapshot.number), data)
        if hint:
            self._storage.replace(HINT, pack({"number": snapshot.number}))
        return True

    def listing(self, first: int = 0) -> Listing:
        """Return the numbers of the commits and checkpoints in the log, starting at ``first``."""
        after = f"log/{first:020d}" if first else ""
        numbers = [
            match
            for info in self._storage.objects("log/", after=after)
            if (match := _OBJECT.fullmatch(info.path))
        ]
        return Listing(
            commits=tuple(int(match[1]) for match in numbers if not match[2]),
            checkpoints=tuple(int(match[1]) for match in numbers if match[2]),
        )

    def _latest(self) -> Snapshot:
        hint = self._hint()
        if hint:
            listing = self.listing(hint)
            near = self._from_checkpoint(listing)
            if near is not None:
                return near
        listing = self.listing()
        if not listing.commits:
            raise NotFoundError(
                f"No index exists at {self._storage.location}.",
                kind=ErrorKind.INDEX_NOT_FOUND,
                hint="lakesieve list TABLE shows the indexes of a table.",
            )
        return self._from_checkpoint(listing) or self._from_root(listing)

    def _documents(self, paths: list[str]) -> list[bytes]:
        return self._storage.get_all(paths, most=MAX_DOCUMENT_BYTES)

    def _hint(self) -> int | None:
        """Return the number of a recent checkpoint.

        It only saves time: it may be old, wrong or missing.
        """
        with contextlib.suppress(LakesieveError):
            number = unpack(self._documents([HINT])[0], HINT).get("number")
            if isinstance(number, int) and 0 <= number < 10**20:
                return number
        return None

    def _from_checkpoint(self, listing: Listing) -> Snapshot | None:
        """Replay from the latest readable checkpoint. Return ``None`` if there is none."""
        for number in reversed(listing.checkpoints):
            rest = [commit for commit in listing.commits if commit >= number]
            # a checkpoint without its commit is left over from an index that was dropped
            if rest[:1] != [number]:
                continue
            try:
                start = self.checkpoint(number)
                if rest != list(range(number, number + len(rest))):
                    return None
                replay = Replay(start)
                for commit in self.commits(number + 1, rest[-1]):
                    replay.apply(commit)
                return replay.snapshot()
            except CorruptIndexError:
                continue
        return None

    def checkpoint(self, number: int) -> Snapshot:
        """Return the state that a checkpoint stores."""
        path = checkpoint_path(number)
        data, beside = self._documents([path, commit_path(number)])
        checkpoint = Checkpoint.from_json(unpack(data, path), path)
        if checkpoint.number != number:
            raise corrupt(path, f"its content is the checkpoint of commit {checkpoint.number}")
        try:
            beside_id = _commit(beside, number).write_id
        except CorruptIndexError:
            beside_id = (
                checkpoint.write_id
            )  # the commit cannot be read, but the checkpoint is enough
        if beside_id != checkpoint.write_id:
            raise corrupt(path, "it is a checkpoint of another index")
        return Snapshot.from_checkpoint(checkpoint)

    def _from_root(self, listing: Listing) -> Snapshot:
        """Read commits backwards to the latest root, and replay from there."""
        chain: list[Commit] = []
        expected = listing.commits[-1] if listing.commits else listing.checkpoints[-1]
        for numbers in _batches(listing.commits[::-1]):
            data = self._documents([commit_path(number) for number in numbers])
            for number, document in zip(numbers, data, strict=True):
                if number != expected:
                    break
                chain.append(_commit(document, number))
                expected -= 1
                if chain[-1].definition is not None:
                    return _replayed(chain[::-1])
        raise corrupt(
            commit_path(max(expected, 0)), "neither the commit nor a checkpoint of it exists"
        )


def _commit(data: bytes, number: int) -> Commit:
    path = commit_path(number)
    commit = Commit.from_json(unpack(data, path), path)
    if commit.number != number:
        raise corrupt(path, f"its content is commit {commit.number}")
    if number == 0 and commit.definition is None:
        raise corrupt(path, "the first commit has no definition")
    return commit


def _replayed(commits: Sequence[Commit]) -> Snapshot:
    replay = Replay(commits[0])
    for commit in commits[1:]:
        replay.apply(commit)
    return replay.snapshot()


def _batches(numbers: Sequence[int]) -> Iterator[Sequence[int]]:
    return (numbers[at : at + _BATCH] for at in range(0, len(numbers), _BATCH))
