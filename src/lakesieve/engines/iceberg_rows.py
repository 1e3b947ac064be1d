"""Rows of one version of an Iceberg table through PyIceberg's reader, of candidate files alone."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg.expressions.visitors import bind
from pyiceberg.table import ALWAYS_TRUE
from pyiceberg.types import UUIDType

from lakesieve.engines import engine_scans
from lakesieve.engines.engine_scans import FilePruner
from lakesieve.engines.equality import EqualityDeletes
from lakesieve.engines.iceberg_files import IcebergFiles
from lakesieve.engines.iceberg_plan import plan_files
from lakesieve.engines.iceberg_reading import (
    named_errors,
    parsed_metadata,
    parsed_schema,
    unread_columns,
)
from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.index import KeepTree
from lakesieve.predicate.expression import Constant
from lakesieve.predicate.pyiceberg import to_pyiceberg
from lakesieve.tables.iceberg.schema import columns_of_fields, columns_of_schema

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from lakesieve.predicate import Expr
    from lakesieve.tables.iceberg.table import IcebergReader


class IcebergRows:
    """What position deletes, deletion vectors, evolved schemas and partitions leave and add.

    Args:
        table: The table.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        locations: Further roots to search for indexes.

    Raises:
        NotFoundError: There is no such version.
    """

    def __init__(
        self, table: IcebergReader, version: str | int | None, locations: Iterable[str]
    ) -> None:
        from pyiceberg.io.pyarrow import schema_to_pyarrow

        self._table = table
        self._version = table.version(version)
        self._pruner = FilePruner(locations)
        self._io = table.io()
        self._metadata = parsed_metadata(table.loaded.metadata.document, table.name)
        document = json.loads(self._version.schema)
        self._unread = unread_columns(document)
        self._columns = columns_of_schema(self._version.schema)
        self._in_manifests = columns_of_fields(document["fields"])
        self._fields = parsed_schema(
            {k: v for k, v in document.items() if k not in {"name-mapping", "partitioning"}},
            table.name,
        )
        self.schema: pa.Schema = schema_to_pyarrow(self._fields, include_field_ids=False)

    def batches(
        self,
        wanted: Expr | KeepTree,
        columns: Collection[str] | None = None,
        *,
        in_turn: bool = False,
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read the files that can hold a row for which a predicate is true.

        Args:
            wanted: The predicate, or a plan; rows for which it is not true may be among them.
            columns: Top-level columns that are needed; ``None`` is all.
            in_turn: Whether a file is opened only after the rows of the file before it were taken.

        Returns:
            The columns, in the table's order, and their rows.

        Raises:
            UnsupportedError: A column has a type that is not read without Spark, equality deletes
                compare what is not there, or PyIceberg cannot read a file.
            StorageError: A file is missing or cannot be reached.
        """
        fields, target = self._fields, self.schema
        if columns is not None:
            names = [name for name in self.schema.names if name in columns]
            if not names:
                # a scan without columns still has rows
                names = sorted(self.schema.names, key=lambda name: name in self._unread)[:1]
            fields = self._fields.select(*names)
            target = pa.schema([self.schema.field(name) for name in names])
        for name in target.names:
            if name in self._unread:
                raise UnsupportedError(
                    f"The column {name} is not read without Spark: its type is "
                    f"{self._unread[name]}.",
                    kind=ErrorKind.UNSUPPORTED_TABLE,
                    hint="Use Spark, or choose other columns.",
                )
        return target, self._named(self._read(wanted, fields, target, in_turn))

    def _named(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with named_errors(self._table.name):
            yield from batches

    def _read(
        self, wanted: Expr | KeepTree, fields: Any, target: pa.Schema, in_turn: bool
    ) -> Iterator[pa.RecordBatch]:
        if self._version.id is None:
            return
        pruned = self._pruner.of_table(self._table, self._columns, wanted)
        expression = Constant(value=True) if isinstance(wanted, KeepTree) else wanted
        snapshot = self._metadata.snapshot_by_id(int(self._version.id))
        assert snapshot is not None
        files = plan_files(
            self._metadata, self._io, snapshot, expression, self._in_manifests, pruned=pruned
        )
        engine_scans.remember([pruned])
        row_filter = self._row_filter(expression)
        compared = {
            field_id
            for planned in files
            for delete in planned.equality
            for field_id in delete.value("equality_ids") or ()
        }
        names = self._compared(compared)
        needed = {*target.names, *names.values()}
        if compared:
            fields = self._fields.select(*[n for n in self.schema.names if n in needed])
        reading = IcebergFiles(
            self._metadata,
            self._io,
            files,
            fields=fields,
            target=pa.schema([self.schema.field(field.name) for field in fields.fields]),
            row_filter=row_filter,
            pruned=pruned,
        )
        if not compared:
            yield from reading.batches_in_turn() if in_turn else reading.batches()
            return
        equality = EqualityDeletes()
        for planned in files:
            for batch in reading.batches_of(planned):
                rows = pa.Table.from_batches([batch])
                alive = equality.alive(rows, planned.equality, names, self._io)
                yield from alive.select(target.names).to_batches()

    def _compared(self, field_ids: set[int]) -> dict[int, str]:
        """The top-level columns that equality deletes compare, by field id."""
        names = {field.field_id: field.name for field in self._fields.fields}
        missing = field_ids - names.keys()
        if missing:
            raise UnsupportedError(
                f"{self._table.name} has equality deletes by fields that are not columns of this "
                f"version: {sorted(missing)}.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Convert them: lakesieve deletes convert TABLE.",
            )
        return {field_id: names[field_id] for field_id in field_ids}

    def _row_filter(self, expression: Expr) -> Any:
        """The filter for PyIceberg's reader, which knows columns by their names of now."""
        current = {field.field_id: field for field in self._metadata.schema().fields}
        names: dict[tuple[str, ...], str] = {
            (field.name,): current[field.field_id].name
            for field in self._fields.fields
            if current.get(field.field_id) is not None
            and current[field.field_id].field_type == field.field_type
            # writers disagree on the order of UUIDs, so bounds of files may be wrong
            and not isinstance(field.field_type, UUIDType)
        }
        row_filter = to_pyiceberg(expression, names)
        try:
            bind(self._metadata.schema(), row_filter, case_sensitive=True)
        except (TypeError, ValueError):
            # a literal that does not fit its column
            return ALWAYS_TRUE
        return row_filter
