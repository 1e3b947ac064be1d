"""The schema of a Parquet file as Spark reads it by default, in Spark's own JSON."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["file_schema", "partition_type"]

_SPARK_SCHEMA = b"org.apache.spark.sql.parquet.row.metadata"
_NUMBER = re.compile(r"[+-]?\d{1,38}", re.ASCII)
_DOUBLE = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?[dDfF]?", re.ASCII)
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
}


def file_schema(metadata: pq.FileMetaData) -> dict[str, Any]:
    """The columns of a file.

    Args:
        metadata: Its footer.

    Returns:
        What Spark wrote there, or what it makes of the file's own types; a type that it does not
        read has the name ``unknown``.
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
    return {"type": "struct", "fields": [_field(field, 0) for field in schema]}


def _field(field: pa.Field, depth: int) -> dict[str, Any]:
    return {
        "name": field.name,
        "type": _type(field.type, depth),
        "nullable": True,
        "metadata": {},
    }


def _type(kind: pa.DataType, depth: int) -> Any:
    if depth > _DEEPEST:
        return "unknown"
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if pa.types.is_dictionary(kind):
        return _type(kind.value_type, depth)
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        # those of Parquet's oldest type have nanoseconds here, and no zone
        if kind.unit == "ns" or kind.tz is not None:
            return "timestamp"
        return "timestamp_ntz"
    if pa.types.is_fixed_size_binary(kind):
        return "binary"
    if pa.types.is_struct(kind):
        fields = [kind.field(at) for at in range(kind.num_fields)]
        return {"type": "struct", "fields": [_field(field, depth + 1) for field in fields]}
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        element = _type(kind.value_type, depth + 1)
        return {"type": "array", "elementType": element, "containsNull": True}
    if pa.types.is_map(kind):
        key, value = _type(kind.key_type, depth + 1), _type(kind.item_type, depth + 1)
        return {"type": "map", "keyType": key, "valueType": value, "valueContainsNull": True}
    return "unknown"


def partition_type(values: Sequence[str | None]) -> str:
    """The type that Spark infers for a partition column from the names of its folders.

    Args:
        values: Its values, decoded; ``None`` is null.
    """
    found = {_inferred(value) for value in values if value is not None}
    if len(found) <= 1:
        return found.pop() if found else "string"
    order = ["integer", "long", "decimal", "double"]
    if found <= {*order[:2], "double"}:
        return max(found, key=order.index)
    return "timestamp" if found == {"date", "timestamp"} else "string"


def _inferred(value: str) -> str:
    if _NUMBER.fullmatch(value):
        number = int(value)
        if -(2**31) <= number < 2**31:
            return "integer"
        if -(2**63) <= number < 2**63:
            return "long"
        return f"decimal({len(value.lstrip('+-').lstrip('0'))},0)"
    if _DOUBLE.fullmatch(value):
        return "double"
    try:
        date.fromisoformat(value)
    except ValueError:
        pass
    else:
        return "date"
    try:
        datetime.fromisoformat(value).replace(tzinfo=UTC)
    except ValueError:
        return "string"
    return "timestamp"
