"""Result models of questions about keys. ``report`` renders them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.index.shown import Shown

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyPresence:
    """Result of a look-up of many keys: which keys are absent, and which files may hold the others.

    Args:
        keys: The given keys, in their order, as columns of the index.
        absent: One boolean for each given key: true if no row has the key. False means that a row
            may have it, or has it if the result is confirmed.
        pairs: Distinct pairs, sorted by key: ``key`` is the position of a given key (int64), and
            ``file`` a data file that may hold it. Absent keys are left out.
        uncovered: Live data files that are not indexed. Each may hold any key.
        confirmed: True if data files were read, with row-level deletes applied.
        files: Number of live data files of the version.
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
        """Return the result as a few lines of text."""
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
    """Result of a check of a table's keys.

    Args:
        table: The table's name.
        on: The checked columns.
        parent: For references, the table that should have the keys; ``None`` for unique keys.
        parent_columns: The columns of the parent.
        version: The version that was read, if the table has data.
        violations: How many keys are in several rows, or are missing in the parent.
        examples: Some of these keys, each as the text of its columns' values.
        files_read: Number of data files of the table or of the parent that were opened; ``None`` if
            unknown.
        files: Number of data files of the table or of the parent.
        index: The index by which the other files were skipped, if any.
        seconds: Duration.

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
        """True if there is no violation."""
        return self.violations == 0
