"""Translate the schema of a Parquet file to Spark's schema JSON, as Spark does by default."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.tables.struct_schema import spark_array, spark_field, spark_map

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_DEEPEST = 64
_SIMPLE: Mapping[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int8(): "byte",
    pa.int16(): "short",
    pa.int32(): "integer",
    pa.int64(): "long",
    pa.uint8(): "short",
    pa.uint16(): "integer",
    pa.uint32(): "long",
    pa.uint64(): "decimal(20,0)",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.date32(): "date",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.string_view(): "string",
    pa.binary_view(): "binary",
    # Parquet lacks these types and stores them as these numbers
    pa.null(): "integer",
    **{pa.duration(unit): "long" for unit in ("s", "ms", "us", "ns")},
}
_OF_STORAGE = frozenset({"arrow.bool8", "arrow.fixed_shape_tensor", "arrow.json"})
"""Extension types whose stored values Spark reads as they are."""

_LISTS = (
    pa.types.is_list,
    pa.types.is_large_list,
    pa.types.is_fixed_size_list,
    pa.types.is_list_view,
    pa.types.is_large_list_view,
)
_PRINTED = re.compile(
    r"(?P<indent> +)\w+ group field_id=-?\d+ (?P<name>.*?)(?P<is_variant> \(Variant\(\d+\)\))?"
    r"( \(\w+\))? \{"
)
_TOP_LEVEL = "  "
_LARGEST_DECIMAL = 38
_UNKNOWN = "unknown"


def file_schema(metadata: pq.FileMetaData) -> dict[str, Any]:
    """Return the columns that Spark wrote into a file, or else its conversion of the file's types.

    A type that Spark does not read has the name ``unknown``.
    """
    written = (metadata.metadata or {}).get(_SPARK_SCHEMA)
    if written is not None:
        try:
            document = json.loads(written)
        except ValueError:
            document = None
        if isinstance(document, dict) and isinstance(document.get("fields"), list):
            return document
    schema = metadata.schema.to_arrow_schema()
    old_times = _columns_with(metadata.schema, _is_old_time)
    unread = _columns_with(metadata.schema, _is_unread) | _variants(metadata.schema)
    fields = [
        spark_field(
            field.name,
            _UNKNOWN
            if field.name in unread
            else _type(field.type, 0, old_times=field.name in old_times),
        )
        for field in schema
    ]
    return {"type": "struct", "fields": fields}


def repeated_name(fields: Sequence[Mapping[str, Any]]) -> str | None:
    """Return a name that two fields of one struct share, regardless of case, or ``None``."""
    counts = Counter(field["name"].lower() for field in fields)
    repeated = [name for name, count in counts.items() if count > 1]
    inner = (repeated_name(part) for field in fields for part in _structs(field["type"]))
    return repeated[0] if repeated else next((name for name in inner if name is not None), None)


def _structs(kind: Any) -> Iterator[Sequence[Mapping[str, Any]]]:
    """Yield the fields of each struct in a type, also inside lists and maps."""
    if not isinstance(kind, dict):
        return
    if kind.get("type") == "struct":
        yield kind["fields"]
    for part in ("elementType", "keyType", "valueType"):
        yield from _structs(kind.get(part))


def _columns_with(
    schema: pq.ParquetSchema, matches: Callable[[pq.ColumnSchema], bool]
) -> frozenset[str]:
    """Return the top-level columns with a stored value for which ``matches`` is true."""
    names: set[str] = set()
    for leaf in (schema.column(at) for at in range(len(schema))):
        if matches(leaf):
            # names may contain dots
            parts = leaf.path.split(".")
            names.update(".".join(parts[: at + 1]) for at in range(len(parts)))
    return frozenset(names)


def _variants(schema: pq.ParquetSchema) -> frozenset[str]:
    """Return the top-level columns that are or contain a VARIANT. Arrow reads these as structs."""
    leaves = (schema.column(at) for at in range(len(schema)))
    if not any(leaf.path.endswith(".metadata") for leaf in leaves):
        return frozenset()
    # only the printed schema shows the annotations of groups
    return printed_variants(str(schema).splitlines())


def printed_variants(lines: Iterable[str]) -> frozenset[str]:
    """Return the top-level columns that are or contain a VARIANT, from a printed schema."""
    names, column = set(), ""
    for line in lines:
        printed = _PRINTED.fullmatch(line)
        if printed is None:
            continue
        if printed["indent"] == _TOP_LEVEL:
            column = printed["name"]
        if printed["is_variant"]:
            names.add(column)
    return frozenset(names)


def _is_old_time(leaf: pq.ColumnSchema) -> bool:
    return bool(leaf.physical_type == "INT96")


def _is_unread(leaf: pq.ColumnSchema) -> bool:
    """Return whether a column has annotated bytes that Spark refuses and Arrow does not know."""
    return bool(leaf.logical_type.type in {"GEOMETRY", "GEOGRAPHY"})


def _type(kind: pa.DataType, depth: int, *, old_times: bool) -> Any:
    if depth > _DEEPEST:
        return _UNKNOWN
    if isinstance(kind, pa.BaseExtensionType) and kind.extension_name in _OF_STORAGE:
        kind = kind.storage_type
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if pa.types.is_decimal(kind) and kind.precision <= _LARGEST_DECIMAL:
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        if kind.unit == "ns":
            # nanoseconds are either Parquet's oldest timestamp type or a type that Spark refuses
            return "timestamp" if old_times and kind.tz is None else _UNKNOWN
        return "timestamp_ntz" if kind.tz is None else "timestamp"
    if pa.types.is_fixed_size_binary(kind):
        return "binary"
    return _nested_type(kind, depth, old_times=old_times)


def _nested_type(kind: pa.DataType, depth: int, *, old_times: bool) -> Any:
    inner = partial(_type, depth=depth + 1, old_times=old_times)
    if pa.types.is_struct(kind):
        parts = (kind.field(at) for at in range(kind.num_fields))
        return {"type": "struct", "fields": [spark_field(p.name, inner(p.type)) for p in parts]}
    if is_any_list(kind):
        return spark_array(inner(kind.value_type))
    if pa.types.is_map(kind):
        return spark_map(inner(kind.key_type), inner(kind.item_type))
    return _UNKNOWN


def is_any_list(kind: pa.DataType) -> bool:
    """Return whether this is one of Arrow's list types. Parquet stores all of them alike."""
    return any(is_list(kind) for is_list in _LISTS)
