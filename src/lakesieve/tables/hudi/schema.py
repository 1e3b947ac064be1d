"""Translate the Avro schema of a Hudi table to Spark's schema JSON, as Hudi for Spark does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from lakesieve.tables.struct_schema import spark_array, spark_field, spark_map

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

UNREAD = "partitions and the column statistics of Hudi's metadata table are not read here"
"""Note for users: other information about files, which an engine's own scan may use."""

# columns that Hudi adds to each table
_META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)

_DEEPEST = 64
_SIMPLE = {
    "boolean": "boolean",
    "int": "integer",
    "long": "long",
    "float": "float",
    "double": "double",
    "bytes": "binary",
    "string": "string",
    "enum": "string",
    "fixed": "binary",
}
_LOGICAL = {
    "date": "date",
    "timestamp-micros": "timestamp",
    "timestamp-millis": "timestamp",
    "local-timestamp-micros": "timestamp_ntz",
    "local-timestamp-millis": "timestamp_ntz",
    "uuid": "string",
    "time-micros": "long",
    "time-millis": "integer",
}
_UNKNOWN = "unknown"


def spark_schema(
    text: str, partitioning: Sequence[str], *, has_meta: bool = True
) -> dict[str, Any]:
    """Return the columns of a table.

    Returns:
        A struct. A type that is not supported has the name ``unknown``.

    Raises:
        ValueError: The text is not the schema of a record.
    """
    record = json.loads(text)
    if not isinstance(record, dict) or record.get("type") != "record":
        raise ValueError("it is not the schema of a record")
    known: dict[str, Any] = {}
    fields = [_field(field, known, 0) for field in record["fields"]]
    own = [field for field in fields if field["name"] not in _META_COLUMNS]
    meta = [spark_field(name, "string") for name in _META_COLUMNS if has_meta]
    by_name = {field["name"]: field for field in own}
    last = [by_name.get(name) or spark_field(name, "string") for name in partitioning]
    rest = [field for field in own if field["name"] not in partitioning]
    return {"type": "struct", "fields": [*meta, *rest, *last]}


def _field(field: Mapping[str, Any], known: dict[str, Any], depth: int) -> dict[str, Any]:
    return spark_field(str(field["name"]), _type(field["type"], known, depth))


def _type(avro: Any, known: dict[str, Any], depth: int) -> Any:
    if depth > _DEEPEST:
        return _UNKNOWN
    if isinstance(avro, list):
        others = [entry for entry in avro if entry != "null"]
        return _type(others[0], known, depth) if len(others) == 1 else _UNKNOWN
    if isinstance(avro, str):
        return _SIMPLE.get(avro) or known.get(avro, _UNKNOWN)
    spark_type = _written(avro, known, depth)
    name = avro.get("name")
    if name is not None:
        known[name] = spark_type
        if avro.get("namespace"):
            known[f"{avro['namespace']}.{name}"] = spark_type
    return spark_type


def _written(avro: Mapping[str, Any], known: dict[str, Any], depth: int) -> Any:
    logical = avro.get("logicalType")
    if logical == "decimal":
        return f"decimal({avro['precision']},{avro.get('scale', 0)})"
    if logical in _LOGICAL:
        return _LOGICAL[logical]
    kind = avro["type"]
    if logical is not None:
        # readers may treat a type that Avro adds later in any way
        return _UNKNOWN
    if isinstance(kind, dict | list):
        return _type(kind, known, depth + 1)
    match kind:
        case "record":
            fields = [_field(field, known, depth + 1) for field in avro["fields"]]
            return {"type": "struct", "fields": fields}
        case "array":
            return spark_array(_type(avro["items"], known, depth + 1))
        case "map":
            return spark_map("string", _type(avro["values"], known, depth + 1))
    return _SIMPLE.get(kind) or known.get(kind, _UNKNOWN)
