"""Rows of one version of a Delta table from its files, of candidate files alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.engines import pruning
from lakesieve.engines.field_ids import names_by_id
from lakesieve.engines.pruning import FilePruner
from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.storage import Storage, elsewhere, normalized, open_object
from lakesieve.tables.delta.vectors import deleted_rows
from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from lakesieve.predicate import Expr
    from lakesieve.tables import TableVersion
    from lakesieve.tables.delta.table import DeltaReader

__all__ = ["DeltaRows"]

_ARROW = {
    "boolean": pa.bool_(),
    "byte": pa.int8(),
    "short": pa.int16(),
    "integer": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_PHYSICAL, _ID = "delta.columnMapping.physicalName", "delta.columnMapping.id"
_DEFAULT = "EXISTS_DEFAULT"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Field:
    """A column, or a field of a struct.

    Args:
        name: Its name in the table.
        stored: Its name in the data files.
        field_id: By which it is found there instead, if it is.
        kind: Its type.
        inner: Fields of a struct; the element of a list; key and value of a map.
    """

    name: str
    stored: str
    field_id: int | None
    kind: pa.DataType
    inner: tuple[_Field, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any], mapping: str, path: str = "") -> _Field:
        """A field of Spark's schema JSON.

        Raises:
            UnsupportedError: Its values are not read here.
        """
        metadata = document.get("metadata") or {}
        name = str(document["name"])
        whole = f"{path}.{name}" if path else name
        if _DEFAULT in metadata:
            raise _unread(whole, "older files lack it, and have a default")
        mapped = mapping != "none"
        kind, inner = _kind(document["type"], mapping, whole)
        return cls(
            name=name,
            stored=str(metadata.get(_PHYSICAL, name)) if mapped else name,
            field_id=int(metadata[_ID]) if mapping == "id" else None,
            kind=kind,
            inner=inner,
        )


def _kind(written: Any, mapping: str, path: str) -> tuple[pa.DataType, tuple[_Field, ...]]:
    if isinstance(written, str):
        decimal = _DECIMAL.fullmatch(written)
        if decimal:
            return pa.decimal128(int(decimal[1]), int(decimal[2])), ()
        if written in _ARROW:
            return _ARROW[written], ()
        raise _unread(path, f"its type is {written}")

    match written["type"]:
        case "struct":
            inner = tuple(_Field.of(field, mapping, path) for field in written["fields"])
            return pa.struct([pa.field(f.name, f.kind) for f in inner]), inner
        case "array":
            element = _part(written["elementType"], mapping, path)
            return pa.list_(element.kind), (element,)
        case "map":
            key = _part(written["keyType"], mapping, path)
            value = _part(written["valueType"], mapping, path)
            return pa.map_(key.kind, value.kind), (key, value)
    raise _unread(path, f"its type is {written['type']}")


def _part(written: Any, mapping: str, path: str) -> _Field:
    kind, inner = _kind(written, mapping, path)
    return _Field(name="", stored="", field_id=None, kind=kind, inner=inner)


def _unread(path: str, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"The column {path} is not read without Spark: {why}.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint="Use Spark, or the files of ls.find_files with a reader that knows it.",
    )


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
        self._fields = [_Field.of(field, mapping) for field in document["schema"]["fields"]]
        self.schema = pa.schema([pa.field(field.name, field.kind) for field in self._fields])

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
        target = pa.schema([pa.field(field.name, field.kind) for field in fields])
        return target, self._read(expression, fields, target)

    def _read(
        self, expression: Expr, fields: list[_Field], target: pa.Schema
    ) -> Iterator[pa.RecordBatch]:
        pruned = self._pruner.of_table(self._table, self._columns, expression)
        files = self._table.logged_files(self._version)
        keep = pruned.keep(normal_paths(files.column("path")))
        pruning.remember([pruned])
        for file in files.filter(pa.array(keep)).to_pylist():
            yield from self._rows_of(file, fields, target).to_batches()

    def _rows_of(
        self, file: Mapping[str, Any], fields: list[_Field], target: pa.Schema
    ) -> pa.Table:
        storage, path = self._at(file["path"])
        partition = dict(file["partition"] or ())
        with open_object(storage, path) as opened:
            stored = pq.ParquetFile(opened, coerce_int96_timestamp_unit="us")
            known = _stored(stored.schema_arrow, fields)
            names = [name for name in known.values() if name is not None]
            rows = stored.read(columns=names) if names else None
            count = stored.metadata.num_rows
        columns = []
        for field in fields:
            name = known.get(field.name)
            if field.name in self._partitioning:
                columns.append(_constant(field, partition.get(field.stored), count))
            elif name is None or rows is None:
                columns.append(pa.nulls(count, field.kind))
            else:
                columns.append(_shaped(rows.column(name).combine_chunks(), field))
        table = pa.Table.from_arrays(columns, schema=target)
        if not file["vector"]:
            return table
        alive = np.ones(count, bool)
        alive[deleted_rows(file["vector"], self._table.storage, self._table.name)] = False
        return table.filter(pa.array(alive))

    def _at(self, path: str) -> tuple[Storage, str]:
        """Where a data file is: below the table, or elsewhere, as of a shallow clone."""
        root, inside = self._table.storage, normalized(path)
        if inside.startswith(f"{root.location}/"):
            return root, inside.removeprefix(f"{root.location}/")
        folder, _, name = inside.rpartition("/")
        return elsewhere(root, folder), name


def _stored(schema: pa.Schema, fields: list[_Field]) -> dict[str, str | None]:
    """By column the name that it has in a data file."""
    by_id = names_by_id(schema)
    exact = set(schema.names)
    folded = {name.lower(): name for name in schema.names}
    found: dict[str, str | None] = {}
    for field in fields:
        if field.field_id is not None:
            found[field.name] = by_id.get(field.field_id)
        else:
            name = field.stored
            found[field.name] = name if name in exact else folded.get(name.lower())
    return found


def _shaped(array: pa.Array, field: _Field) -> pa.Array:
    """The values of a column as the table has them: nested fields by their names, wider types."""
    if pa.types.is_struct(field.kind):
        kind = array.type
        schema = pa.schema([kind.field(at) for at in range(kind.num_fields)])
        known = _stored(schema, list(field.inner))
        parts = []
        for part in field.inner:
            name = known[part.name]
            if name is None:
                parts.append(pa.nulls(len(array), part.kind))
            else:
                parts.append(_shaped(array.field(schema.get_field_index(name)), part))
        return pa.StructArray.from_arrays(
            parts,
            fields=[pa.field(part.name, part.kind) for part in field.inner],
            mask=array.is_null(),
        )
    if pa.types.is_list(field.kind):
        values = _shaped(array.values, field.inner[0])
        return pa.ListArray.from_arrays(
            array.offsets, values, type=field.kind, mask=array.is_null()
        )
    if pa.types.is_map(field.kind):
        keys, items = (
            _shaped(part, inner)
            for part, inner in zip((array.keys, array.items), field.inner, strict=True)
        )
        return pa.MapArray.from_arrays(
            array.offsets, keys, items, type=field.kind, mask=array.is_null()
        )
    return array.cast(field.kind)


def _constant(field: _Field, text: str | None, count: int) -> pa.Array:
    """The value of a partition column, which is text in the log."""
    if text is None or text == "":
        return pa.nulls(count, field.kind)
    zoned = pa.types.is_timestamp(field.kind) and field.kind.tz is not None
    if zoned and not text.endswith("Z"):
        # they are written in the zone of their writer
        raise _unread(field.name, "the times of its partitions have no zone")
    if pa.types.is_binary(field.kind):
        value = pa.scalar(text.encode("latin-1"), field.kind)
    else:
        value = pa.scalar(text, pa.string()).cast(field.kind)
    return pa.repeat(value, count)
