"""Clones: a second index that shares the segments of a first one without copying them."""

from __future__ import annotations

import uuid
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lakesieve.errors import CommitConflictError, ErrorKind, LakesieveError
from lakesieve.store.index_references import add_references, remove_references
from lakesieve.store.index_store import IndexStore
from lakesieve.store.snapshot import Changes

if TYPE_CHECKING:
    from lakesieve.storage import Storage
    from lakesieve.store.snapshot import Snapshot


def clone(
    origin: IndexStore,
    target: Storage,
    *,
    number: int | None = None,
    name: str | None = None,
    table_uuid: str | None = None,
    table_location: str | None = None,
) -> Snapshot:
    """Make an index that begins with a state of another one; nothing but its log is written.

    From then on the two are independent. Vacuums of the origin keep the objects that the clone
    uses, until the clone has compacted them away and vacuumed, or was dropped.

    The data files of the table that the clone is for must be those of the origin's table, by the
    same paths. What is not given is the origin's.

    Returns:
        The clone's first state.
    """
    state = origin.snapshot(number)
    original = state.definition
    definition = replace(
        original,
        name=name or original.name,
        index_uuid=str(uuid.uuid4()),
        table_uuid=table_uuid or original.table_uuid,
        table_location=table_location or original.table_location,
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
        # roots that the origin refers to are referred to directly: no clone depends on another
        borrowed_roots=(target.at(origin.storage.location).location, *original.borrowed_roots),
    )
    add_references(target, definition, {(root + 1, path) for root, path in state.objects()})
    try:
        _check_kept(origin, state)
        return IndexStore(target).create(definition, _first_changes(state))
    except LakesieveError as error:
        # a commit whose response was lost may exist after all, and would need the references
        if error.kind is not ErrorKind.STORAGE_FAILED:
            remove_references(target, definition)
        raise


def _first_changes(state: Snapshot) -> Changes:
    """Return the objects of a state, as objects of another root."""
    return Changes(
        operation="clone",
        table_version=state.table_version,
        add_catalogues=tuple(replace(e, root=e.root + 1) for e in state.catalogues),
        add_segments=tuple(replace(e, root=e.root + 1) for e in state.segments),
    )


def _check_kept(origin: IndexStore, state: Snapshot) -> None:
    """Look for the commit of a vacuum that did not see the references."""
    current = origin.snapshot()
    same = current.definition.index_uuid == state.definition.index_uuid
    if not same or current.retained_from > state.number:
        raise CommitConflictError(
            f"The state of commit {state.number} of {origin.storage.location} was given up "
            "while it was cloned.",
            kind=ErrorKind.CONFLICT,
            hint="Try again from a later commit.",
        )
