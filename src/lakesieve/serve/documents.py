"""Files of a plan in the JSON of Iceberg's REST specification."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pyiceberg.conversions import to_json
from pyiceberg.manifest import DataFileContent

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pyiceberg.types import StructType

    from lakesieve.serve.manifests import DeleteFile, ManifestFiles

__all__ = ["data_file_document", "delete_file_document"]

_COUNTS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
_BOUNDS = ("lower_bounds", "upper_bounds")
_WHERE_KNOWN = ("split_offsets", "sort_order_id", "first_row_id")
_PLAIN = ("file_format", "file_size_in_bytes", "record_count", "key_metadata", *_WHERE_KNOWN)


def data_file_document(
    files: ManifestFiles, at: int, partition_type: StructType, fields: Collection[int]
) -> dict[str, Any]:
    """A data file.

    Args:
        files: What its manifest lists.
        at: Its row there.
        partition_type: Of its partition.
        fields: Ids of the columns whose statistics are wanted.
    """
    details = {name: files.details.column(name)[at].as_py() for name in _PLAIN}
    document = {
        "spec-id": files.spec_id,
        "content": "data",
        "file-path": files.locations[at].as_py(),
        "file-format": details["file_format"],
        "partition": _partition(files.partitions[files.places[at]], partition_type),
        "file-size-in-bytes": details["file_size_in_bytes"],
        "record-count": details["record_count"],
    }
    if fields:
        for name in (*_COUNTS, *_BOUNDS):
            wanted = {k: v for k, v in (files.mapping(name, at) or {}).items() if k in fields}
            document[name.replace("_", "-")] = _map(wanted)
    if details["key_metadata"] is not None:
        document["key-metadata"] = details["key_metadata"].hex().upper()
    for name in _WHERE_KNOWN:
        if details[name] is not None:
            document[name.replace("_", "-")] = details[name]
    return document


def delete_file_document(delete: DeleteFile, partition_type: StructType) -> dict[str, Any]:
    """A delete file.

    Args:
        delete: The file.
        partition_type: Of its partition.
    """
    file = delete.file
    of_equality = file.content == DataFileContent.EQUALITY_DELETES
    document = {
        "spec-id": delete.spec_id,
        "content": "equality-deletes" if of_equality else "position-deletes",
        "file-path": file.file_path,
        "file-format": str(file.file_format.value).lower(),
        "partition": _partition(file.partition, partition_type),
        "file-size-in-bytes": file.file_size_in_bytes,
        "record-count": file.record_count,
    }
    others = {
        "equality-ids": file.equality_ids if of_equality else None,
        "split-offsets": file.split_offsets,
        "sort-order-id": file.sort_order_id,
        "referenced-data-file": delete.referenced,
        "content-offset": delete.offset,
        "content-size-in-bytes": delete.size,
    }
    if file.key_metadata is not None:
        others["key-metadata"] = file.key_metadata.hex().upper()
    return document | {name: value for name, value in others.items() if value is not None}


def _partition(partition: Any, partition_type: StructType) -> list[Any]:
    values = zip(partition._data, partition_type.fields, strict=False)
    return [_value(value, field.field_type) for value, field in values]


def _value(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        # as Java writes what JSON has no number for
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return to_json(kind, value)


def _map(values: Mapping[int, Any]) -> dict[str, list[Any]]:
    written = [v.hex().upper() if isinstance(v, bytes) else v for v in values.values()]
    return {"keys": list(values), "values": written}
