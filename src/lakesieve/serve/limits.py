"""Limits of one request: bytes, parts of a filter, decoded manifests, and time."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from lakesieve.errors import ErrorKind, StorageError
from lakesieve.tables.iceberg.table_manifests import ManifestLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

_WORK = "lakesieve.work"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLimits:
    """The largest filters and manifests for which scans are planned."""

    # expressions in a filter: comparisons, what combines them, and what they compare
    nodes: int = 50_000
    # values in a filter, of all lists together; an upsert of PyIceberg sends its keys in one list
    literals: int = 200_000
    # comparisons of a file with an expression in one plan; further files stay in the plan
    judgements: int = 5_000_000
    # bytes of filters in one answer, in which each task repeats the filter; then pages are smaller
    answer: int = 64 << 20
    manifests: ManifestLimits = field(default_factory=ManifestLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestLimits:
    """How long the parts of a request may take, and how large its body may be."""

    body: int = 16 << 20  # bytes of a request's body
    head: int = 64 << 10  # bytes of a request's headers
    head_seconds: float = 30.0  # how long a client may take to send the headers
    body_seconds: float = 60.0  # how long a client may take to send the whole body
    send_seconds: float = 60.0  # how long a client may take to receive one part of the answer
    work_seconds: float = 300.0  # how long an answer may take to be made
    upstream_seconds: float = 120.0  # how long a catalog behind may take for a whole answer
    upstream_connections: int = 200  # connections to a catalog behind
    upstream_answer: int = 512 << 20  # bytes of an answer of a catalog behind


class RequestWork:
    """The work for one request, which ends early when nobody waits for its answer.

    Threads cannot be interrupted, so long work calls :meth:`check` again and again. ``seconds`` is
    how long the work may take; ``None`` is for ever.
    """

    def __init__(self, seconds: float | None = None) -> None:
        self._until = None if seconds is None else time.monotonic() + seconds
        self._stopped = False

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> Self:
        """Return the work for a request. It has no time limit if no guard set one."""
        work = scope.get(_WORK)
        return work if isinstance(work, cls) else cls()

    def belongs_to(self, scope: Any) -> None:
        """Make it the work for a request."""
        scope[_WORK] = self

    def stop(self) -> None:
        """Let the next check fail: the client has left, or the server ends."""
        self._stopped = True

    def check(self) -> None:
        """Go on only while the answer is wanted.

        Raises:
            StorageError: It is not wanted any more, or has taken too long.
        """
        late = self._until is not None and time.monotonic() > self._until
        if late or self._stopped:
            raise StorageError(
                "The answer took too long." if late else "Nobody waits for the answer any more.",
                kind=ErrorKind.STORAGE_FAILED,
                hint="Try again: the server keeps the parts of the table that it has read. A "
                "smaller filter takes less time.",
            )
