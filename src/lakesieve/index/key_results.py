"""The result models of questions about keys, rendered by ``report``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.index.shown import Shown

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyPresence:
    """Which of many keys a table version lacks, and the data files that can hold the others.

    Args:
        keys: The given keys, as columns of the index, in their order.
        absent: One element a given key: true for a key that no row has. False is a key that a row
            can have, or that one has where it was confirmed.
        pairs: ``key``, the number of a given key, int64, and ``file``, a data file that can hold
            it: one row a pair, each once, by keys. Keys that are absent are not in it.
        uncovered: Live data files that the index has not seen: any of them can hold any key.
        confirmed: Whether the files were read, row-level deletes applied.
        files: Live data files of the version.
        version: The version, or ``None`` for a table without data.
        table: The table's name.
        index: The index's name.
        commit: The index's commit that was read.

    Examples:
        >>> index.contains([4711, 99_999]).pairs.num_rows
        1
    """

    keys: pa.Table
    absent: pa.BooleanArray
    pairs: pa.Table
    uncovered: tuple[str, ...]
    confirmed: bool
    files: int
    version: str | None
    table: str
    index: str
    commit: int

    def __str__(self) -> str:
        """Return the answer in a few lines for a person."""
        absent, keys = self.absent.true_count, len(self.absent)
        named = len(self.pairs.column("file").unique())
        what = "present" if self.confirmed else "possible"
        lines = [
            f"{self.table} at version {self.version}, index {self.index}: of {keys} keys",
            f"{absent} absent, {keys - absent} {what}, in {named} of {self.files} data files",
        ]
        if self.uncovered:
            lines.append(f"  {len(self.uncovered)} data files are not indexed")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyCheck(Shown):
    """Whether keys of a table are what they should be.

    Args:
        table: The table's name.
        on: The columns that were checked.
        parent: The table that should have the keys, for references; ``None`` for unique keys.
        parent_columns: Its columns.
        version: The version that was read, if the table has data.
        violations: How many keys are in several rows, or are missing in the parent.
        examples: Some of them, each as the values of its columns, as text.
        files_read: Data files that were opened to find out, of the table or of the parent; ``None``
            where that is not known.
        files: Data files that it has.
        index: The index that left the others out, if any.
        seconds: How long it took.

    Examples:
        >>> ls.check_unique("lake.shop.orders", "id", spark=spark).violations
        0
    """

    table: str
    on: tuple[str, ...]
    parent: str | None
    parent_columns: tuple[str, ...]
    version: str | None
    violations: int
    examples: tuple[tuple[str, ...], ...]
    files_read: int | None
    files: int
    index: str | None
    seconds: float

    @property
    def holds(self) -> bool:
        """Whether there is no violation."""
        return self.violations == 0
