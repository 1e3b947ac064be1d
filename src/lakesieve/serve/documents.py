"""Files of a plan in the JSON of Iceberg's REST specification."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from pyiceberg.conversions import to_json
from pyiceberg.manifest import DataFileContent
from pyiceberg.types import BinaryType, FixedType, UUIDType

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pyiceberg.types import StructType

    from lakesieve.serve.manifests import DeleteFile, ManifestFiles

_BYTES = (BinaryType, FixedType, UUIDType)

_COUNTS = ("column_sizes", "value_counts", "null_value_counts", "nan_value_counts")
_BOUNDS = ("lower_bounds", "upper_bounds")
_WHERE_KNOWN = ("split_offsets", "sort_order_id", "first_row_id")
_PLAIN = ("file_format", "file_size_in_bytes", "record_count", "key_metadata", *_WHERE_KNOWN)


def data_file_document(
    files: ManifestFiles, at: int, partition: Sequence[Any] | None, fields: Collection[int]
) -> dict[str, Any]:
    """A data file.

    Args:
        files: What its manifest lists.
        at: Its row there.
        partition: Its partition as :func:`partition_document` has it.
        fields: Ids of the columns whose statistics are wanted.
    """
    details = {name: files.details.column(name)[at].as_py() for name in _PLAIN}
    document = {
        "spec-id": files.spec_id,
        "content": "data",
        "file-path": files.locations[at].as_py(),
        "file-format": details["file_format"],
        "file-size-in-bytes": details["file_size_in_bytes"],
        "record-count": details["record_count"],
    }
    if partition is not None:
        document["partition"] = partition
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


def delete_file_document(delete: DeleteFile, partition: Sequence[Any] | None) -> dict[str, Any]:
    """A delete file.

    Args:
        delete: The file.
        partition: Its partition as :func:`partition_document` has it.
    """
    file = delete.file
    of_equality = file.content == DataFileContent.EQUALITY_DELETES
    document = {
        "spec-id": delete.spec_id,
        "content": "equality-deletes" if of_equality else "position-deletes",
        "file-path": file.file_path,
        "file-format": str(file.file_format.value).lower(),
        "file-size-in-bytes": file.file_size_in_bytes,
        "record-count": file.record_count,
    }
    others = {
        "partition": partition,
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


def partition_document(
    partition: Any, partition_type: StructType, *, for_pyiceberg: bool = False
) -> list[Any] | None:
    """The values of a partition.

    Args:
        partition: As PyIceberg has it.
        partition_type: Of the partition.
        for_pyiceberg: Whether PyIceberg reads it, which takes no null and no bytes; without a
            partition it reads columns of the file itself and fails where the file lacks one.

    Returns:
        The values; ``None`` if the reader could not take them.
    """
    kinds = [field.field_type for field in partition_type.fields]
    values = [_value(value, kind) for value, kind in zip(partition._data, kinds, strict=False)]
    if for_pyiceberg and (None in values or any(isinstance(kind, _BYTES) for kind in kinds)):
        return None
    return values


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
