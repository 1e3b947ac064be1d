"""The contract of table readers: what a reader of a table format must provide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from lakesieve.sieve import KeysOfRow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from lakesieve.format import KeyExpression
    from lakesieve.tables.statistics import FileStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table's schema, a field of a struct, or an expression that is a key."""

    path: tuple[str, ...]  # names from the top-level column down to the field
    field_id: int  # the format's identity of the field, which renames do not change
    type: str  # the type, as the format prints it
    kind: str  # the key kind, or `"other"` if it cannot be a key
    scale: int = 0  # for decimals: digits after the point
    precision: int = 18  # for decimals: total number of digits
    refusal: str = ""  # why it cannot be a key although its type could be one; else empty
    elements: str = "other"  # only for a list: the key kind of its elements, or `"other"`
    entries: str = "other"  # only for a map: the key kind of its values, or `"other"`
    # only for an expression, whose path is its SQL text: the expression, and the columns it reads
    expression: KeyExpression | None = None
    sources: tuple[Column, ...] = ()

    @property
    def keys_of_row(self) -> KeysOfRow:
        """How the keys of a row follow from the value of the column."""
        return KeysOfRow.ONE if self.expression is None else self.expression.keys_of_row


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVersion:
    """One version of a table: an Iceberg snapshot, for example."""

    id: str | None  # the format's name of the version; `None` for a table without data
    schema: str  # the schema with which this version is read, as the format writes it
    timestamp_ms: int | None = None  # commit time, in milliseconds since the epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCounts:
    """Numbers of row-level deletes of a version that its readers must apply."""

    files: int
    equality: int  # rows of equality delete files
    positions: int  # rows of position deletes and deletion vectors


@runtime_checkable
class CountsDeletes(Protocol):
    """A table whose metadata counts row-level deletes."""

    def delete_counts(self, version: TableVersion) -> DeleteCounts | None:
        """Return the deletes of a version, or ``None`` if they were not counted."""


@runtime_checkable
class KnowsRowDeletes(Protocol):
    """A reader that knows from metadata alone whether a version has row-level deletes."""

    def has_row_deletes(self, version: TableVersion) -> bool:
        """Return whether some rows of a version's data files may be deleted."""


@runtime_checkable
class HasFileStatistics(Protocol):
    """A table whose metadata has bounds or partition values of data files."""

    def file_statistics(self, version: TableVersion) -> FileStatistics | None:
        """Return the statistics with which engines skip data files, or ``None``."""


class TableReader(Protocol):
    """One table of a lakehouse format: its identity, versions, columns and data files."""

    @property
    def name(self) -> str:
        """Name by which the user called the table."""

    @property
    def format(self) -> str:
        """Table format: ``iceberg``, ``delta``, ``hudi`` or ``parquet``."""

    @property
    def uuid(self) -> str:
        """Identity of the table, different for a table recreated under the same name."""

    @property
    def location(self) -> str:
        """Root folder of the table's own files."""

    @property
    def file_io(self) -> Mapping[str, str]:
        """Settings for reaching the table's own files, if its catalog has them."""

    def reload(self) -> None:
        """Load the current state of the table. ``version`` and ``retained_files`` do so themselves.

        Raises:
            NotFoundError: The table was dropped, or its name now leads to another table.
        """

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Resolve a version id, timestamp, branch or tag; ``None`` is the current version.

        Raises:
            NotFoundError: The version does not exist, or the table was dropped or replaced.
        """

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """Return the columns, and the fields of structs outside lists and maps, by path."""

    def live_files(self, version: TableVersion) -> pa.Table:
        """Return the data files: ``path`` string, ``size`` int64, ``records`` int64.

        ``path`` has the spelling of :func:`~lakesieve.tables.paths.normal_paths`. If the table
        spells a path in another way, ``location`` has the table's spelling and ``scanned`` that of
        raw rows. ``records`` is null if only the file itself has the number. If files may be
        rewritten in place, ``path`` also identifies their content, and ``location`` is the path
        alone. If there is a column ``indexable``, every query reads the files for which it is
        false.
        """

    def retained_files(self) -> pa.ChunkedArray:
        """Return the paths of the data files of all versions that the table still has.

        They are spelled as in ``live_files``.
        """

    def references(self) -> Sequence[str]:
        """Return the names of the branches and tags, without the current branch."""
