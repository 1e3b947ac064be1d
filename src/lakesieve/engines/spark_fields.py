"""Columns in Spark's own schema JSON, as the rows of a data file are read for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.engines.field_ids import names_by_id
from lakesieve.errors import ErrorKind, UnsupportedError

if TYPE_CHECKING:
    import io
    from collections.abc import Collection, Mapping, Sequence

__all__ = ["Field", "rows_of_file", "rows_of_table", "schema_of"]

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
# written by versions of Spark that had another calendar, or as they had it
_SHIFTED = frozenset({b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
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
    inner: tuple[Field, ...] = ()

    @classmethod
    def of(cls, document: Mapping[str, Any], mapping: str, path: str = "") -> Field:
        """A field of Spark's schema JSON.

        Args:
            document: The field.
            mapping: ``none``, or how Delta maps columns to those of the files.
            path: Names of the fields that it stands in.

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


def _kind(written: Any, mapping: str, path: str) -> tuple[pa.DataType, tuple[Field, ...]]:
    if isinstance(written, str):
        decimal = _DECIMAL.fullmatch(written)
        if decimal:
            return pa.decimal128(int(decimal[1]), int(decimal[2])), ()
        if written in _ARROW:
            return _ARROW[written], ()
        raise _unread(path, f"its type is {written}")

    match written["type"]:
        case "struct":
            inner = tuple(Field.of(field, mapping, path) for field in written["fields"])
            return pa.struct([pa.field(f.name, f.kind) for f in inner]), inner
        case "array":
            element = _part(written["elementType"], mapping, path)
            return pa.list_(element.kind), (element,)
        case "map":
            key = _part(written["keyType"], mapping, path)
            value = _part(written["valueType"], mapping, path)
            return pa.map_(key.kind, value.kind), (key, value)
    raise _unread(path, f"its type is {written['type']}")


def _part(written: Any, mapping: str, path: str) -> Field:
    kind, inner = _kind(written, mapping, path)
    return Field(name="", stored="", field_id=None, kind=kind, inner=inner)


def _unread(path: str, why: str) -> UnsupportedError:
    return UnsupportedError(
        f"The column {path} is not read without Spark: {why}.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint="Use Spark, or the files of ls.find_files with a reader that knows it.",
    )


def schema_of(fields: Sequence[Field]) -> pa.Schema:
    """Columns as Arrow has them.

    Args:
        fields: The columns.
    """
    return pa.schema([pa.field(field.name, field.kind) for field in fields])


def rows_of_file(
    opened: io.BufferedReader,
    fields: Sequence[Field],
    partition: Mapping[str, str | None],
    partitioning: Collection[str],
    *,
    widens_floats: bool = True,
) -> pa.Table:
    """The rows of a data file, all of them, under the columns of its table.

    Args:
        opened: The file.
        fields: The columns that are wanted.
        partition: Values of partition columns as text, by the name that they are stored under.
        partitioning: Names of the partition columns.
        widens_floats: Whether floats are the same numbers where the table has doubles.

    Raises:
        UnsupportedError: A column is stored in a way that is not read here.
    """
    stored = pq.ParquetFile(opened, coerce_int96_timestamp_unit="us")
    own = [field for field in fields if field.name not in partitioning]
    if _SHIFTED & (stored.metadata.metadata or {}).keys():
        for field in own:
            if pa.types.is_temporal(field.kind):
                raise _unread(field.name, "a file has its old times by the Julian calendar")
    names = [name for name in _stored(stored.schema_arrow, own).values() if name is not None]
    # without columns, it has as many rows
    rows = stored.read(columns=names)
    return rows_of_table(rows, fields, partition, partitioning, widens_floats=widens_floats)


def rows_of_table(
    rows: pa.Table,
    fields: Sequence[Field],
    partition: Mapping[str, str | None],
    partitioning: Collection[str],
    *,
    widens_floats: bool = True,
) -> pa.Table:
    """Rows as a data file has them, under the columns of its table.

    Args:
        rows: The rows.
        fields: As for :func:`rows_of_file`, as are the others.
        partition: Values of partition columns.
        partitioning: Names of the partition columns.
        widens_floats: Whether floats are the same numbers as doubles.

    Raises:
        UnsupportedError: A column has another type.
    """
    known = _stored(rows.schema, [field for field in fields if field.name not in partitioning])
    columns = []
    for field in fields:
        name = known.get(field.name)
        if field.name in partitioning:
            columns.append(_constant(field, partition.get(field.stored), len(rows)))
        elif name is None:
            columns.append(pa.nulls(len(rows), field.kind))
        else:
            array = rows.column(name).combine_chunks()
            if not widens_floats and _has_float(array.type) and not _has_float(field.kind):
                raise _unread(field.name, f"a file has it as {array.type}")
            columns.append(_shaped(array, field))
    return pa.Table.from_arrays(columns, schema=schema_of(fields))


def _has_float(kind: pa.DataType) -> bool:
    inner = (kind.field(at).type for at in range(kind.num_fields))
    return kind == pa.float32() or any(map(_has_float, inner))


def _stored(schema: pa.Schema, fields: Sequence[Field]) -> dict[str, str | None]:
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


def _shaped(array: pa.Array, field: Field) -> pa.Array:
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
    if not _is_read_as(array.type, field.kind):
        raise _unread(field.name, f"a file has it as {array.type}")
    return array.cast(field.kind)


def _is_read_as(stored: pa.DataType, kind: pa.DataType) -> bool:
    """Whether values of one type are values of the other, too: wider ones, other encodings."""
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if stored == kind or pa.types.is_null(stored):
        return True
    is_zoned = pa.types.is_timestamp(stored) and stored.tz is not None
    numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    if any(alike(stored) and alike(kind) for alike in numbers):
        return True
    if pa.types.is_decimal(kind) or pa.types.is_floating(kind):
        return bool(pa.types.is_integer(stored))
    if pa.types.is_timestamp(kind):
        # moments are not read as times without a zone
        plain = pa.types.is_timestamp(stored) or pa.types.is_date(stored)
        return bool(plain and (kind.tz is not None or not is_zoned))
    is_text = pa.types.is_string(stored) or pa.types.is_large_string(stored)
    is_bytes = pa.types.is_binary(stored) or pa.types.is_large_binary(stored)
    return bool(
        (is_text or is_bytes or pa.types.is_fixed_size_binary(stored))
        and (pa.types.is_string(kind) or pa.types.is_binary(kind))
    )


def _constant(field: Field, text: str | None, count: int) -> pa.Array:
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
