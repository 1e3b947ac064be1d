"""What reading a table takes: the contract that every reader of a table format fulfils."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pyarrow as pa

    from lakesieve.tables.statistics import FileStatistics


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table's schema, or a field of a struct."""

    path: tuple[str, ...]  # names from the top-level column down to the field
    field_id: int  # the format's own identity of the field, unchanged by renames
    type: str  # the type as the format prints it
    kind: str  # the key kind, or `"other"` when it cannot be a key
    scale: int = 0  # digits after the point, for decimals
    precision: int = 18  # digits in all, for decimals
    refusal: str = ""  # why a column whose type could be a key cannot be one; empty for all others


@dataclass(frozen=True, slots=True, kw_only=True)
class TableVersion:
    """One version of a table: an Iceberg snapshot, for example."""

    id: str | None  # the format's own name of the version; `None` for a table without data
    schema: str  # the schema by which this version is read, as the format writes it
    timestamp_ms: int | None = None  # when it was committed, milliseconds since the epoch


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteCounts:
    """Row-level deletes of a version that its readers must apply."""

    files: int
    equality: int  # rows of equality delete files
    positions: int  # rows of position deletes and deletion vectors


@runtime_checkable
class CountsDeletes(Protocol):
    """A table whose metadata counts row-level deletes."""

    def delete_counts(self, version: TableVersion) -> DeleteCounts | None:
        """Return the deletes of a version; ``None`` where they were not counted."""


@runtime_checkable
class HasFileStatistics(Protocol):
    """A table whose metadata says more of data files than their names: bounds, or partitions."""

    def file_statistics(self, version: TableVersion) -> FileStatistics | None:
        """Return the statistics by which engines leave out data files; ``None`` for none."""


class TableReader(Protocol):
    """One table of a lakehouse format: its identity, versions, columns and data files."""

    @property
    def name(self) -> str:
        """The name by which the user called it."""

    @property
    def format(self) -> str:
        """``iceberg``, ``delta``, ``hudi`` or ``parquet``."""

    @property
    def uuid(self) -> str:
        """Identity of the table, different for a table recreated under the same name."""

    @property
    def location(self) -> str:
        """Root of the table's own files."""

    @property
    def file_io(self) -> Mapping[str, str]:
        """Settings by which the table's own files are reached, where its catalog has them."""

    def reload(self) -> None:
        """Look at the table as it is now; ``version`` and ``retained_files`` do so themselves.

        Raises:
            NotFoundError: It is gone, or its name leads to another table.
        """

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Resolve a version id, timestamp, branch or tag; ``None`` is the current version.

        Raises:
            NotFoundError: There is no such version, or the table is gone or another one.
        """

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """Return the columns, and the fields of structs outside lists and maps, by path."""

    def live_files(self, version: TableVersion) -> pa.Table:
        """Return the data files: ``path`` string, ``size`` int64, ``records`` int64.

        ``path`` is spelled in the one way of :func:`~lakesieve.tables.paths.normal_paths`; where
        the table spells it otherwise, ``location`` is the table's spelling, and ``scanned`` that of
        raw rows. ``records`` is null where only the file itself knows. Where a file
        may be rewritten in place, ``path`` distinguishes its contents, too, and ``location`` is the
        path alone. What is not ``indexable``, where there is such a column, is read by every query.
        """

    def retained_files(self) -> pa.ChunkedArray:
        """Paths of the data files of all versions that the table still keeps, as ``live_files``."""

    def references(self) -> Sequence[str]:
        """Return the names of the branches and tags, the current version's own left out."""
