"""Maintain one index, apart from reading data files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import CommitConflictError, ErrorKind, InvalidInputError
from lakesieve.store import CompactionPolicy, compaction_changes, wants_compaction

if TYPE_CHECKING:
    from lakesieve.store import IndexStore, Snapshot
    from lakesieve.tables import TableReader

ATTEMPTS = 5
"""How often a commit is tried again if other writers were faster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """One index and its table."""

    table: TableReader
    store: IndexStore

    def covered(self, state: Snapshot) -> pa.ChunkedArray:
        """Return the paths of the data files that a state of the index covers."""
        read = self.store.covered_by(state)
        chunks = [chunk for entry in state.catalogues for chunk in read(entry).chunks]
        return pa.chunked_array(chunks, pa.string())

    def check_table(self) -> None:
        """Reload the table, and check that the index belongs to it."""
        self.table.reload()
        self.check_definition()

    def check_definition(self) -> None:
        """Check that the index belongs to the table as it was loaded last."""
        definition = self.store.snapshot().definition
        if definition.table_uuid != self.table.uuid:
            raise InvalidInputError(
                f"The index {definition.name} was built for another table, which was at "
                f"{self.table.location} before.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Drop the index and create it again.",
            )

    def kept_files(self, state: Snapshot) -> int:
        """Return how many of the covered files some version of the table still has."""
        covered = self.covered(state).unique()
        return int(pc.sum(pc.is_in(covered, value_set=self.table.retained_files())).as_py() or 0)

    def compacted(self, catalogues: tuple[str, ...] | None = None) -> Snapshot:
        """Merge some of the catalogues with their segments, by default all."""
        for attempts_left in reversed(range(ATTEMPTS)):
            base = self.store.snapshot()
            live = self.table.retained_files()
            changes = compaction_changes(self.store, base, catalogues=catalogues, live=live)
            if changes is None:
                return base
            try:
                return self.store.commit(base, changes)
            except CommitConflictError:
                # another writer merged these segments, so merge what exists now
                if not attempts_left:
                    raise
                if catalogues is not None:
                    return self.store.snapshot()
        raise AssertionError("unreachable")

    def compact_if_due(self, *, merges_on_read: bool) -> bool:
        """Merge the deltas if there are too many. Return whether it did."""
        state = self.store.snapshot()
        policy = CompactionPolicy.parse(state.definition.compaction, merges_on_read=merges_on_read)
        due = wants_compaction(state, policy)
        if not due:
            return False
        self.compacted(catalogues=due)
        return True
