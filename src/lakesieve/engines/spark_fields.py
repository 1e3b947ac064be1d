"""Columns in Spark's own schema JSON, as the rows of a data file are read for them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakesieve.engines.field_ids import names_by_id
from lakesieve.engines.wanted_rows import read_rows
from lakesieve.errors import ErrorKind, LakesieveError, UnsupportedError
from lakesieve.tables.parquet.schema import is_any_list
from lakesieve.tables.struct_schema import DECIMAL_TYPE, OLD_DEFAULT, PHYSICAL_NAME

if TYPE_CHECKING:
    import io
    from collections.abc import Collection, Iterator, Sequence

    from lakesieve.engines.wanted_rows import WantedRows

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
    "void": pa.null(),
}
# Spark's own results in Arrow have nanoseconds
_TIME, _TIME_TYPE = re.compile(r"time\(\d\)"), pa.time64("ns")
_ID = "delta.columnMapping.id"
_LARGEST_DECIMAL = 38
# written in the calendar of Spark 2: marked by Spark 3, or by a version before 3.1, of which 3.0
# wrote INT96 so; Spark compares versions as texts
_OLD_CALENDAR = frozenset({b"org.apache.spark.legacyDateTime", b"org.apache.spark.legacyINT96"})
_SPARK_VERSION, _ONE_CALENDAR = b"org.apache.spark.version", b"3.1.0"
# both calendars agree from these values on, in every time zone: 1582-10-15 and 1900-01-01
_FIRST_DAY, _FIRST_MOMENT = -141_427, -2_208_988_800_000_000


Partition = Mapping[str, "str | pa.Scalar | None"]
"""Values of partition columns: as Delta and Hudi write them, which is text, or as scalars."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """A column, or a field of a struct."""

    name: str
    stored: str
    field_id: int | None  # by which it is found there instead, if it is
    kind: pa.DataType
    # fields of a struct; the element of a list; key and value of a map
    inner: tuple[Field, ...] = ()
    # the error for whoever wants the values of a column that cannot be read
    refusal: UnsupportedError | None = None

    @classmethod
    def of_table(cls, document: Mapping[str, Any], mapping: str) -> Field:
        """Return a column of a table, which may be one whose values cannot be read."""
        try:
            return cls.of(document, mapping)
        except UnsupportedError as error:
            name = str(document["name"])
            return cls(name=name, stored=name, field_id=None, kind=pa.null(), refusal=error)

    @classmethod
    def of(cls, document: Mapping[str, Any], mapping: str, path: str = "") -> Field:
        """Return a field of Spark's schema JSON."""
        metadata = document.get("metadata") or {}
        name = str(document["name"])
        whole = f"{path}.{name}" if path else name
        if OLD_DEFAULT in metadata:
            raise _unread(whole, "older files lack the column, and it has a default value")
        mapped = mapping != "none"
        kind, inner = _kind(document["type"], mapping, whole)
        return cls(
            name=name,
            stored=str(metadata.get(PHYSICAL_NAME, name)) if mapped else name,
            field_id=int(metadata[_ID]) if mapping == "id" else None,
            kind=kind,
            inner=inner,
        )


def _kind(written: Any, mapping: str, path: str) -> tuple[pa.DataType, tuple[Field, ...]]:
    if isinstance(written, str):
        decimal = DECIMAL_TYPE.fullmatch(written)
        if decimal and int(decimal[1]) <= _LARGEST_DECIMAL:
            return pa.decimal128(int(decimal[1]), int(decimal[2])), ()
        if _TIME.fullmatch(written):
            return _TIME_TYPE, ()
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
        hint="Use Spark, or another reader for the files that ls.find_files returns.",
    )


def schema_of(fields: Sequence[Field]) -> pa.Schema:
    """Return the columns as Arrow has them."""
    return pa.schema([pa.field(field.name, field.kind) for field in fields])


def rows_of_file(
    opened: io.BufferedReader,
    fields: Sequence[Field],
    partition: Partition,
    partitioning: Collection[str],
    *,
    path: str,
    wanted: WantedRows | None = None,
    widens_floats: bool = True,
) -> pa.Table:
    """Return the wanted rows of a data file under the columns of its table, by default all rows."""
    with _named(path):
        own = [field for field in fields if field.name not in partitioning]
        rows = _read(opened, own, wanted)
        return rows_of_table(rows, fields, partition, partitioning, widens_floats=widens_floats)


@contextmanager
def _named(path: str) -> Iterator[None]:
    """Say which file Arrow cannot read, as one of lakesieve's errors."""
    try:
        yield
    except LakesieveError:
        raise
    except (pa.ArrowException, KeyError, OSError) as error:
        first = str(error).strip().partition("\n")[0]
        raise UnsupportedError(
            f"The data file {path} cannot be read: {first}",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Remove or restore the file.",
        ) from error


def _read(opened: io.BufferedReader, own: Sequence[Field], wanted: WantedRows | None) -> pa.Table:
    """Return the wanted rows of the columns that a data file itself has."""
    stored = pq.ParquetFile(opened, coerce_int96_timestamp_unit="us")
    names = [name for name in _stored(stored.schema_arrow, own).values() if name is not None]
    # without columns, it has as many rows
    rows = read_rows(stored, names, wanted)
    metadata = stored.metadata.metadata or {}
    is_old = metadata.get(_SPARK_VERSION, _ONE_CALENDAR) < _ONE_CALENDAR
    if is_old or _OLD_CALENDAR & metadata.keys():
        for name, column in zip(rows.column_names, rows.columns, strict=True):
            if any(map(_has_old_times, column.chunks)):
                raise _unread(name, "a file has old times in the Julian calendar")
    return rows


def _has_old_times(array: pa.Array) -> bool:
    """Return whether an array holds a time, at any depth, that another calendar would change."""
    if pa.types.is_nested(array.type):
        inner = array.flatten() if pa.types.is_struct(array.type) else _parts_of(array)
        return any(map(_has_old_times, inner))
    if pa.types.is_date(array.type):
        oldest, first = pc.min(array.cast(pa.date32()).cast(pa.int32())), _FIRST_DAY
    elif pa.types.is_timestamp(array.type):
        kind = pa.timestamp("us", array.type.tz)
        oldest, first = pc.min(array.cast(kind, safe=False).cast(pa.int64())), _FIRST_MOMENT
    else:
        return False
    return bool(oldest.is_valid and oldest.as_py() < first)


def _parts_of(array: pa.Array) -> list[pa.Array]:
    """Return the values of a list, or the keys and values of a map."""
    return [array.keys, array.items] if pa.types.is_map(array.type) else [array.flatten()]


def rows_of_table(
    rows: pa.Table,
    fields: Sequence[Field],
    partition: Partition,
    partitioning: Collection[str],
    *,
    widens_floats: bool = True,
) -> pa.Table:
    """Return the rows as a data file has them, under the columns of its table."""
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
                raise _unread(field.name, f"a data file stores it as {array.type}")
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
    """Return values under the type of the table: nested fields by their names, wider types."""
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
        array = _plain_list(array, field)
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
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_duration(array.type):
        # Parquet has no such type: these are numbers
        array = array.cast(pa.int64())
    if not _is_read_as(array.type, field.kind):
        raise _unread(field.name, f"a data file stores it as {array.type}")
    try:
        return array.cast(field.kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        # numbers that do not fit, bytes that are no text
        raise _unread(field.name, f"a data file stores it as {array.type}: {error}") from error


def _plain_list(array: pa.Array, field: Field) -> pa.Array:
    """Return a list of any of Arrow's types as the simplest of them."""
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if not is_any_list(array.type):
        raise _unread(field.name, f"a data file stores it as {array.type}")
    if pa.types.is_list(array.type):
        return array
    lengths = pc.fill_null(pc.list_value_length(array), 0).cast(pa.int32())
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(lengths)])
    return pa.ListArray.from_arrays(offsets, array.flatten(), mask=array.is_null())


_STORED_AS_INT32 = frozenset(
    {pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32()}
)
_DIGITS_OF = {pa.int8(): 10, pa.int16(): 10, pa.int32(): 10, pa.int64(): 20, pa.uint64(): 20}
"""Digits of a decimal in which Spark reads integers."""


def _is_read_as(stored: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether Spark 4.1 reads values stored as ``stored`` unchanged as type ``kind``."""
    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if stored == kind or pa.types.is_null(stored):
        return True
    if pa.types.is_integer(kind):
        return stored in _STORED_AS_INT32
    if pa.types.is_floating(kind):
        exact = _STORED_AS_INT32 - {pa.uint32()} | {pa.float32()}
        return bool(kind == pa.float64() and stored in exact)
    if pa.types.is_decimal(kind):
        scale, digits = 0, _DIGITS_OF.get(stored)
        if pa.types.is_decimal(stored):
            scale, digits = stored.scale, stored.precision - stored.scale
        fits = digits is not None and kind.precision - kind.scale >= digits
        return bool(fits and kind.scale >= scale)
    if pa.types.is_temporal(kind):
        return _is_read_as_time(stored, kind)
    is_text = stored in {pa.string(), pa.large_string(), pa.string_view()}
    is_bytes = stored in {pa.binary(), pa.large_binary(), pa.binary_view()}
    is_fixed = pa.types.is_binary(kind) and pa.types.is_fixed_size_binary(stored)
    return is_fixed or ((is_text or is_bytes) and kind in {pa.string(), pa.binary()})


def _is_read_as_time(stored: pa.DataType, kind: pa.DataType) -> bool:
    if pa.types.is_date(stored):
        return bool(pa.types.is_date(kind) or (pa.types.is_timestamp(kind) and kind.tz is None))
    if pa.types.is_time(stored):
        return bool(pa.types.is_time(kind))
    if not (pa.types.is_timestamp(stored) and pa.types.is_timestamp(kind)):
        return False
    # moments are not read as times without a zone, and nanoseconds not at all
    return bool(stored.unit != "ns" and (kind.tz is not None or stored.tz is None))


_TEXTS = {pa.string(), pa.large_string(), pa.binary(), pa.large_binary()}


def _constant(field: Field, value: str | pa.Scalar | None, count: int) -> pa.Array:
    """Return the value of a partition column."""
    if isinstance(value, pa.Scalar):
        return pa.repeat(value.cast(field.kind), count)
    text = value
    # Delta's protocol reads an empty text as null, and Spark does for all types but these
    if text is None or (text == "" and field.kind not in _TEXTS):
        return pa.nulls(count, field.kind)
    zoned = pa.types.is_timestamp(field.kind) and field.kind.tz is not None
    if zoned and not text.endswith("Z"):
        # they are written in the zone of their writer
        raise _unread(field.name, "the partition values are times without a time zone")
    if pa.types.is_binary(field.kind):
        value = pa.scalar(text.encode(), field.kind)
    else:
        value = pa.scalar(text, pa.string()).cast(field.kind)
    return pa.repeat(value, count)
