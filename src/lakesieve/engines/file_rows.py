"""Rows by pyarrow, from data files themselves, of tables whose columns are Spark's."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from lakesieve.engines.engine_scans import FilePruner
from lakesieve.engines.spark_fields import Field, schema_of
from lakesieve.tables import TableReader

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import pyarrow as pa

    from lakesieve.index import KeepTree
    from lakesieve.predicate import Expr

_Reader = TypeVar("_Reader", bound=TableReader)


class FileRows(ABC, Generic[_Reader]):
    """Rows of a version of a table.

    Raises:
        NotFoundError: There is no such version.
        UnsupportedError: A feature of the table is not known here.
    """

    def __init__(self, table: _Reader, version: str | int | None, locations: Iterable[str]) -> None:
        self._table = table
        self._version = table.version(version)
        self._columns = table.columns(self._version)
        self._pruner = FilePruner(locations)
        document = json.loads(self._version.schema)
        mapping = document.get("mapping", "none")
        self._partitioning = frozenset(document["partitioning"])
        self._fields = [Field.of_table(field, mapping) for field in document["schema"]["fields"]]
        self.schema = schema_of(self._fields)

    def batches(
        self,
        wanted: Expr | KeepTree,
        columns: Collection[str] | None = None,
        *,
        in_turn: bool = False,
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Return the schema and the batches of rows, see :meth:`TableRows.batches`."""
        # these files are always read in turn
        del in_turn
        fields = [f for f in self._fields if columns is None or f.name in columns]
        if not fields:
            # a scan without columns still has rows
            fields = sorted(self._fields, key=lambda field: field.refusal is not None)[:1]
        for field in fields:
            if field.refusal is not None:
                raise field.refusal
        return schema_of(fields), self._read(wanted, fields)

    @abstractmethod
    def _read(self, wanted: Expr | KeepTree, fields: list[Field]) -> Iterator[pa.RecordBatch]:
        """Return the rows of the files that can hold a match, under some of the columns."""
