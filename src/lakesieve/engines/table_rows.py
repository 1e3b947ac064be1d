"""Rows of a version of a table without Spark, whatever its format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from lakesieve.index import KeepTree
    from lakesieve.index.many_keys import KeysToFind
    from lakesieve.predicate import Expr
    from lakesieve.tables import TableReader
    from lakesieve.tables.delta.table import DeltaReader
    from lakesieve.tables.hudi.table import HudiReader
    from lakesieve.tables.iceberg.table import IcebergReader
    from lakesieve.tables.parquet.table import ParquetReader

    Version = str | int | None


class TableRows(Protocol):
    """One version of a table, its deletes applied, under its own schema."""

    @property
    def schema(self) -> pa.Schema:
        """The schema with all columns."""

    def batches(
        self,
        wanted: Expr | KeepTree,
        columns: Collection[str] | None = None,
        *,
        in_turn: bool = False,
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return columns, and the rows of the files that can hold a row that is wanted.

        Rows for which the predicate is not true may be among them. Of a plan, the rows that it
        keeps are read.
        ``columns`` are the top-level columns that are needed, ``None`` is all. With ``in_turn``, a
        data file is opened only after the rows of the file before it were taken.
        """


def rows_of(
    opened: TableReader, version: str | int | None, locations: Iterable[str] = ()
) -> TableRows:
    """Return the rows of a version of a table that is open."""
    return ROWS[opened.format](opened, version, locations)


def key_rows(wanted: KeysToFind) -> Iterator[list[pa.Array]]:
    """Key columns of the rows in some files of a version, row-level deletes applied."""
    table, version = wanted.table, wanted.version.id
    if version is None:
        return
    # a directory has no version but that of now; files that changed since are not left out
    rows = rows_of(table, None if table.format == "parquet" else version)
    _, batches = rows.batches(wanted.plan, {column.path[0] for column in wanted.columns})
    for batch in batches:
        yield [_field(batch, column.path) for column in wanted.columns]


def _field(batch: pa.RecordBatch, path: Sequence[str]) -> pa.Array:
    """Return a column, or a field of its structs, which is null if one of the structs is null."""
    found = batch.column(path[0])
    for name in path[1:]:
        found = pc.struct_field(found, name)
    return found


def _iceberg(table: IcebergReader, version: Version, locations: Iterable[str]) -> TableRows:
    from lakesieve.engines.iceberg_rows import IcebergRows

    return IcebergRows(table, version, locations)


def _delta(table: DeltaReader, version: Version, locations: Iterable[str]) -> TableRows:
    from lakesieve.engines.delta_rows import DeltaRows

    return DeltaRows(table, version, locations)


def _hudi(table: HudiReader, version: Version, locations: Iterable[str]) -> TableRows:
    from lakesieve.engines.hudi_rows import HudiRows

    return HudiRows(table, version, locations)


def _parquet(table: ParquetReader, version: Version, locations: Iterable[str]) -> TableRows:
    from lakesieve.engines.parquet_rows import ParquetRows

    return ParquetRows(table, version, locations)


ROWS: dict[str, Callable[[Any, Version, Iterable[str]], TableRows]] = {
    "iceberg": _iceberg,
    "delta": _delta,
    "hudi": _hudi,
    "parquet": _parquet,
}
"""For each table format, what reads rows of a table that is open."""
