"""Rows of a directory of Parquet files, of candidate files alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lakesieve.engines import pruning
from lakesieve.engines.pruning import FilePruner
from lakesieve.engines.spark_fields import Field, rows_of_file, schema_of
from lakesieve.storage import open_object

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import pyarrow as pa

    from lakesieve.predicate import Expr
    from lakesieve.tables.parquet.table import ParquetReader

__all__ = ["ParquetRows"]


class ParquetRows:
    """Rows of the files that are in a directory when they are read, under the columns it had.

    Args:
        table: The directory.
        version: ``None``: there is no other.
        locations: Further roots to search for indexes.

    Raises:
        NotFoundError: A version was given.
        UnsupportedError: A column is not read without Spark.
    """

    def __init__(
        self, table: ParquetReader, version: str | int | None, locations: Iterable[str]
    ) -> None:
        self._table = table
        opened = table.version(version)
        self._columns = table.columns(opened)
        self._pruner = FilePruner(locations)
        document = json.loads(opened.schema)
        self._partitioning = frozenset(document["partitioning"])
        self._fields = [Field.of(field, "none") for field in document["schema"]["fields"]]
        self.schema = schema_of(self._fields)

    def batches(
        self, expression: Expr, columns: Collection[str] | None = None
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read the files that can hold a row for which a predicate is true.

        Args:
            expression: The predicate; rows for which it is not true may be among them.
            columns: Top-level columns that are needed; ``None`` is all.

        Returns:
            The columns, in the table's order, and their rows.

        Raises:
            StorageError: A data file cannot be read.
            UnsupportedError: A data file has a column in a way that is not read without Spark.
        """
        fields = [f for f in self._fields if columns is None or f.name in columns]
        # a scan without columns still has rows
        fields = fields or self._fields[:1]
        return schema_of(fields), self._read(expression, fields)

    def _read(self, expression: Expr, fields: list[Field]) -> Iterator[pa.RecordBatch]:
        # files may be rewritten in place: an index knows them by their size and time of now
        version = self._table.version()
        pruned = self._pruner.of_table(self._table, self._columns, expression)
        keep = pruned.keep(self._table.live_files(version).column("path"))
        pruning.remember([pruned])
        for wanted, (path, partition) in zip(keep, self._table.listed(), strict=True):
            # summaries are listed with the data files, and have no rows of their own
            if wanted and not path.rpartition("/")[2].startswith("_"):
                with open_object(self._table.storage, path) as opened:
                    rows = rows_of_file(opened, fields, partition, self._partitioning)
                yield from rows.to_batches()
