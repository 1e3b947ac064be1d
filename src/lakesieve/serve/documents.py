"""Files of a plan in the JSON of Iceberg's REST specification."""

from __future__ import annotations

import math
import uuid
from typing import TYPE_CHECKING, Any

from pyiceberg.conversions import to_json
from pyiceberg.types import BinaryType, FixedType, UUIDType

from lakesieve.tables.iceberg.manifest_files import BOUNDS, COUNTS, EQUALITY_DELETES

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from pyiceberg.types import StructType

    from lakesieve.tables.iceberg.manifest_files import ListedFile

_BYTES = (BinaryType, FixedType, UUIDType)
_CONTENTS = ("data", "position-deletes", "equality-deletes")
_WHERE_KNOWN = (
    "split_offsets",
    "sort_order_id",
    "first_row_id",
    "referenced_data_file",
    "content_offset",
    "content_size_in_bytes",
)


def file_document(
    file: ListedFile, partition: Sequence[Any] | None, fields: Collection[int] = ()
) -> dict[str, Any]:
    """Write a data file or a delete file, with the statistics of some fields.

    ``partition`` is what :func:`partition_document` returns.
    """
    content = file.value("content") or 0
    document = {
        "spec-id": file.spec_id,
        "content": _CONTENTS[content],
        "file-path": file.path,
        "file-format": file.value("file_format"),
        "file-size-in-bytes": file.value("file_size_in_bytes"),
        "record-count": file.value("record_count"),
    }
    if partition is not None:
        document["partition"] = partition
    if fields:
        for name in (*COUNTS, *BOUNDS):
            wanted = {k: v for k, v in file.mapping(name).items() if k in fields}
            document[name.replace("_", "-")] = _map(wanted)
    key = file.value("key_metadata")
    if key is not None:
        document["key-metadata"] = key.hex().upper()
    names = (*_WHERE_KNOWN, "equality_ids") if content == EQUALITY_DELETES else _WHERE_KNOWN
    known = {name.replace("_", "-"): file.value(name) for name in names}
    return document | {name: value for name, value in known.items() if value is not None}


def partition_document(
    partition: Sequence[Any], partition_type: StructType, *, for_pyiceberg: bool
) -> list[Any] | None:
    """Write the values of a partition, in which dates and times are numbers.

    Returns ``None`` for values that PyIceberg cannot read: nulls and bytes. Without a partition
    PyIceberg reads the columns in the file, and fails where the file lacks one.
    """
    kinds = [field.field_type for field in partition_type.fields]
    values = [_value(value, kind) for value, kind in zip(partition, kinds, strict=False)]
    if for_pyiceberg and (None in values or any(isinstance(kind, _BYTES) for kind in kinds)):
        return None
    return values


def _value(value: Any, kind: Any) -> Any:
    if value is None:
        return None
    if isinstance(value, float) and not math.isfinite(value):
        # as Java writes what JSON has no number for
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(kind, UUIDType) and isinstance(value, bytes):
        value = uuid.UUID(bytes=value)
    return to_json(kind, value)


def _map(values: Mapping[int, Any]) -> dict[str, list[Any]]:
    written = [v.hex().upper() if isinstance(v, bytes) else v for v in values.values()]
    return {"keys": list(values), "values": written}
