"""Clones: indexes that share the segments of another index without copying them."""

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
    """Make an index that begins with a state of another one. Only its log is written.

    After that, the two indexes are independent. Vacuums of the origin keep the objects that the
    clone uses. They may delete these objects once the clone was dropped, or was compacted and
    vacuumed.

    The clone's table must have the same data files, with the same paths, as the origin's table.
    Arguments that are not given are taken from the origin.

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
        # the clone refers directly to the roots that its origin refers to, so it depends on no
        # other clone
        borrowed_roots=(target.at(origin.storage.location).location, *original.borrowed_roots),
    )
    add_references(target, definition, {(root + 1, path) for root, path in state.objects()})
    try:
        _check_kept(origin, state)
        return IndexStore(target).create(definition, _first_changes(state))
    except LakesieveError as error:
        # if the response was lost, the commit may exist and would need the references
        if error.kind is not ErrorKind.STORAGE_FAILED:
            remove_references(target, definition)
        raise


def _first_changes(state: Snapshot) -> Changes:
    """Return the objects of a state as objects of another root."""
    return Changes(
        operation="clone",
        table_version=state.table_version,
        add_catalogues=tuple(replace(e, root=e.root + 1) for e in state.catalogues),
        add_segments=tuple(replace(e, root=e.root + 1) for e in state.segments),
    )


def _check_kept(origin: IndexStore, state: Snapshot) -> None:
    """Check that no vacuum, unaware of the references, gave the state up meanwhile."""
    current = origin.snapshot()
    same = current.definition.index_uuid == state.definition.index_uuid
    if not same or current.retained_from > state.number:
        raise CommitConflictError(
            f"The state of commit {state.number} of {origin.storage.location} was removed by a "
            "vacuum while it was cloned.",
            kind=ErrorKind.CONFLICT,
            hint="Try again from a later commit.",
        )
