"""Rows of one version of a Delta table from its files, of candidate files alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.engines import pruning
from lakesieve.engines.pruning import FilePruner
from lakesieve.engines.spark_fields import Field, rows_of_file, schema_of
from lakesieve.storage import Storage, elsewhere, normalized, open_object
from lakesieve.tables.delta.vectors import deleted_rows
from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from lakesieve.predicate import Expr
    from lakesieve.tables import TableVersion
    from lakesieve.tables.delta.table import DeltaReader

__all__ = ["DeltaRows"]


class DeltaRows:
    """Rows of a version of a Delta table: deletion vectors, column mapping, partitions, old files.

    Args:
        table: The table.
        version: Version number or time; ``None`` is the current version.
        locations: Further roots to search for indexes.

    Raises:
        NotFoundError: There is no such version.
        UnsupportedError: A feature or a column of the table is not known here.
    """

    def __init__(
        self, table: DeltaReader, version: str | int | None, locations: Iterable[str]
    ) -> None:
        self._table = table
        self._version: TableVersion = table.version(version)
        self._columns = table.columns(self._version)
        self._pruner = FilePruner(locations)
        document = json.loads(self._version.schema)
        mapping, self._partitioning = document["mapping"], frozenset(document["partitioning"])
        self._fields = [Field.of(field, mapping) for field in document["schema"]["fields"]]
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
            StorageError: A data file or a deletion vector cannot be read.
        """
        fields = [f for f in self._fields if columns is None or f.name in columns]
        # a scan without columns still has rows
        fields = fields or self._fields[:1]
        return schema_of(fields), self._read(expression, fields)

    def _read(self, expression: Expr, fields: list[Field]) -> Iterator[pa.RecordBatch]:
        pruned = self._pruner.of_table(self._table, self._columns, expression)
        files = self._table.logged_files(self._version)
        keep = pruned.keep(normal_paths(files.column("path")))
        pruning.remember([pruned])
        for file in files.filter(pa.array(keep)).to_pylist():
            yield from self._rows_of(file, fields).to_batches()

    def _rows_of(self, file: Mapping[str, Any], fields: list[Field]) -> pa.Table:
        storage, path = self._at(file["path"])
        with open_object(storage, path) as opened:
            partition = dict(file["partition"] or ())
            table = rows_of_file(opened, fields, partition, self._partitioning)
        if not file["vector"]:
            return table
        alive = np.ones(len(table), bool)
        alive[deleted_rows(file["vector"], self._table.storage, self._table.name)] = False
        return table.filter(pa.array(alive))

    def _at(self, path: str) -> tuple[Storage, str]:
        """Where a data file is: below the table, or elsewhere, as of a shallow clone."""
        root, inside = self._table.storage, normalized(path)
        if inside.startswith(f"{root.location}/"):
            return root, inside.removeprefix(f"{root.location}/")
        folder, _, name = inside.rpartition("/")
        return elsewhere(root, folder), name
