"""Rows of a version of a table without Spark, whatever its format."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, cast

from lakesieve.tables.delta.table import DeltaReader
from lakesieve.tables.hudi.table import HudiReader
from lakesieve.tables.iceberg.table import IcebergReader
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import pyarrow as pa

    from lakesieve.predicate import Expr
    from lakesieve.tables.parquet.table import ParquetReader

__all__ = ["TableRows", "open_rows"]


class TableRows(Protocol):
    """One version of a table, its deletes applied, under its own schema."""

    @property
    def schema(self) -> pa.Schema:
        """All columns."""

    def batches(
        self, expression: Expr, columns: Collection[str] | None = None
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read the files that can hold a row for which a predicate is true.

        Args:
            expression: The predicate; rows for which it is not true may be among them.
            columns: Top-level columns that are needed; ``None`` is all.

        Returns:
            The columns, in the table's order, and their rows.
        """


def open_rows(
    table: str | Any,
    version: str | int | None,
    *,
    catalog: str | None,
    warehouse: str,
    locations: Iterable[str],
) -> TableRows:
    """Open a version of a table.

    Args:
        table: As for :func:`lakesieve.open_index` without a session, as are the others.
        version: Snapshot id or number, time, tag or branch; ``None`` is the current version.
        catalog: Name of a catalog in PyIceberg's configuration.
        warehouse: Folder of the embedded catalog.
        locations: Further roots to search for indexes.

    Raises:
        NotFoundError: No such table or version.
        UnsupportedError: Its rows cannot be read without Spark.
        SetupError: A package that reading it takes is missing.
    """
    opened = open_table(table, catalog=catalog, warehouse=warehouse)
    if isinstance(opened, IcebergReader):
        from lakesieve.engines.iceberg_rows import IcebergRows

        return IcebergRows(opened, version, locations)
    if isinstance(opened, DeltaReader):
        from lakesieve.engines.delta_rows import DeltaRows

        return DeltaRows(opened, version, locations)
    if isinstance(opened, HudiReader):
        from lakesieve.engines.hudi_rows import HudiRows

        return HudiRows(opened, version, locations)
    from lakesieve.engines.parquet_rows import ParquetRows

    # there is no fifth format
    return ParquetRows(cast("ParquetReader", opened), version, locations)
