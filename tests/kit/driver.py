"""What a table format supplies to the suite that every format passes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence


class Driver(Protocol):
    """One fresh table of a format, and how that format changes it."""

    name: str
    """By which lakesieve and ``relation`` know it."""
    can_rename: bool
    """Whether columns can be renamed and dropped."""
    has_versions: bool
    """Whether older versions can be read."""
    reads_changed_files: bool
    """Whether a file whose rows were changed is read by every query until it is compacted."""
    stores_partition_values: bool
    """Whether data files hold the values of partition columns."""

    @property
    def entry(self) -> str:
        """Its name in the catalog, where it is entered when that is first needed."""

    def create(self, rows: Any, partitioned_by: str | None = None) -> None:
        """Make the table with the schema of a DataFrame, without its rows."""

    def append(self, rows: Any) -> None:
        """Add rows, a data file a partition of the DataFrame."""

    def delete(self, condition: str) -> None:
        """Delete rows."""

    def update(self, assignment: str, condition: str) -> None:
        """Change rows."""

    def compact(self) -> None:
        """Rewrite the files into fewer."""

    def version(self) -> str | None:
        """The current version; ``None`` where there is only one."""

    def relation(self, version: str | None = None) -> str:
        """The table in a FROM clause."""

    def relations(self) -> Sequence[str]:
        """All FROM clauses that name the current version."""

    def rename(self, old: str, new: str) -> None:
        """Rename a column."""

    def drop_and_add(self, column: str, kind: str) -> None:
        """Drop a column and add one of the same name."""

    def recreate(self, rows: Any) -> None:
        """Drop the table and create it again at the same location, with these rows."""

    def supplant(self, rows: Any) -> None:
        """Drop the catalog's table, and make another one of its name with these rows.

        At another location if the format allows it; the indexes of the old table stay there.
        """
