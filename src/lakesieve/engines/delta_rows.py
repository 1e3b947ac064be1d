"""Rows of one version of a Delta table from its files, of candidate files alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from lakesieve.engines import engine_scans
from lakesieve.engines.file_rows import FileRows
from lakesieve.engines.spark_fields import rows_of_file
from lakesieve.storage import Storage, elsewhere, normalized, open_object
from lakesieve.tables.delta.table import DeltaReader
from lakesieve.tables.delta.vectors import deleted_rows
from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakesieve.engines.spark_fields import Field
    from lakesieve.engines.wanted_rows import WantedRows
    from lakesieve.index import KeepTree
    from lakesieve.predicate import Expr


class DeltaRows(FileRows[DeltaReader]):
    """Deletion vectors, column mapping, partitions and old files of a Delta table are seen to."""

    def _read(self, wanted: Expr | KeepTree, fields: list[Field]) -> Iterator[pa.RecordBatch]:
        pruned = self._pruner.of_table(self._table, self._columns, wanted)
        files = self._table.logged_files(self._version)
        to_read = pruned.files_to_read(normal_paths(files.column("path")))
        engine_scans.remember([pruned])
        numbers = np.flatnonzero(to_read.keep)
        for number, file in zip(numbers.tolist(), files.take(numbers).to_pylist(), strict=True):
            yield from self._rows_of(file, fields, to_read.rows.get(number)).to_batches()

    def _rows_of(
        self, file: Mapping[str, Any], fields: list[Field], wanted: WantedRows | None
    ) -> pa.Table:
        storage, path = self._at(file["path"])
        with open_object(storage, path) as opened:
            partition = dict(file["partition"] or ())
            table = rows_of_file(
                opened, fields, partition, self._partitioning, path=path, wanted=wanted
            )
        if not file["vector"]:
            return table
        deleted = deleted_rows(file["vector"], self._table.storage, self._table.name)
        if wanted is None:
            alive = np.ones(len(table), bool)
            alive[deleted] = False
        else:
            alive = ~np.isin(wanted.positions(len(table)), deleted)
        return table.filter(pa.array(alive))

    def _at(self, path: str) -> tuple[Storage, str]:
        """Where a data file is: below the table, or elsewhere, as of a shallow clone."""
        root, inside = self._table.storage, normalized(path)
        if inside.startswith(f"{root.location}/"):
            return root, inside.removeprefix(f"{root.location}/")
        folder, _, name = inside.rpartition("/")
        return elsewhere(root, folder), name
