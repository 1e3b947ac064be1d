"""Small data files of Iceberg tables that hold their rows as they are, read by pyarrow alone.

PyIceberg's reader looks at everything that may be otherwise, which for one small file takes several
times as long as reading it. Whatever is otherwise here is left to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.engines.field_ids import names_by_id

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask
    from pyiceberg.table.metadata import TableMetadata

MAX_FILES = 8
"""More files are faster in threads."""

_MAX_ROWS = 100_000
_ALIKE = {(pa.string(), pa.large_string()), (pa.binary(), pa.large_binary())}


def plain_rows(
    task: FileScanTask, fields: Schema, target: pa.Schema, metadata: TableMetadata, io: Any
) -> pa.Table | None:
    """Return all rows of a data file.

    Returns:
        The rows; ``None`` where PyIceberg has to read them: rows are deleted, the file is large, a
        column is missing or of another type, or anything fails.
    """
    file: Any = task.file
    is_plain = not task.delete_files and file.key_metadata is None
    if not is_plain or file.file_format.name != "PARQUET" or file.record_count > _MAX_ROWS:
        return None
    try:
        with io.new_input(file.file_path).open() as opened:
            stored = pq.ParquetFile(opened, pre_buffer=True, coerce_int96_timestamp_unit="us")
            names = _names(stored.schema_arrow, fields, target, metadata)
            if names is None:
                return None
            rows = stored.read(columns=names, use_threads=False).select(names)
    except Exception:  # noqa: BLE001 - PyIceberg says what is wrong
        return None
    return rows.rename_columns(target.names).cast(target)


def _names(
    stored: pa.Schema, fields: Schema, target: pa.Schema, metadata: TableMetadata
) -> list[str] | None:
    """Return the names that the columns have in a file, if it has them all as they are wanted."""
    known = names_by_id(stored) or _mapped(stored, metadata)
    names = [known.get(field.field_id) for field in fields.fields]
    found = [name for name in names if name is not None and "." not in name]
    if len(found) < len(names) or len(set(stored.names)) < len(stored.names):
        return None
    for name, wanted in zip(found, target, strict=True):
        kind = stored.field(name).type
        # the fields of nested ones have ids of their own
        if pa.types.is_nested(kind) or (kind != wanted.type and (kind, wanted.type) not in _ALIKE):
            return None
    return found


def _mapped(stored: pa.Schema, metadata: TableMetadata) -> dict[int, str]:
    """Return the names of the columns of a file without ids, by the ids of the name mapping."""
    mapping: Any = metadata.name_mapping() or ()
    ids = {name: one.field_id for one in mapping for name in one.names}
    known = {ids[name]: name for name in stored.names if name in ids}
    # two names of one column
    return known if len(known) == sum(name in ids for name in stored.names) else {}
