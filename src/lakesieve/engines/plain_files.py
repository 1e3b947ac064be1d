"""Data files of Iceberg tables that hold their rows as they are, read by pyarrow alone.

PyIceberg's reader looks at everything that may be otherwise, which for one small file takes several
times as long as reading it. Whatever is otherwise here is left to it. So is a large file, unless
only some of its rows are wanted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.engines.field_ids import names_by_id
from lakesieve.engines.wanted_rows import read_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask
    from pyiceberg.table.metadata import TableMetadata

    from lakesieve.engines.wanted_rows import WantedRows

MAX_FILES = 8
"""More files are faster in threads."""

_MAX_ROWS = 100_000
_ALIKE = {(pa.string(), pa.large_string()), (pa.binary(), pa.large_binary())}


def plain_rows(
    task: FileScanTask,
    fields: Schema,
    target: pa.Schema,
    metadata: TableMetadata,
    io: Any,
    *,
    wanted: WantedRows | None = None,
    deleted: Sequence[pa.ChunkedArray] = (),
) -> pa.Table | None:
    """Return the wanted rows of a data file, by default all rows.

    Args:
        task: The file, and its delete files.
        fields: The columns to read.
        target: The same columns in Arrow.
        metadata: Metadata of the table.
        io: PyIceberg's ``FileIO``.
        wanted: The wanted rows.
        deleted: Positions of the rows that the delete files delete, if rows are wanted.

    Returns:
        The rows; ``None`` where PyIceberg has to read them: all rows are wanted and some are
        deleted or the file is large, a column is missing or of another type, or anything fails.
    """
    file: Any = task.file
    if file.key_metadata is not None or file.file_format.name != "PARQUET":
        return None
    if wanted is None and (task.delete_files or file.record_count > _MAX_ROWS):
        return None
    try:
        with io.new_input(file.file_path).open() as opened:
            stored = pq.ParquetFile(opened, pre_buffer=True, coerce_int96_timestamp_unit="us")
            names = _names(stored.schema_arrow, fields, target, metadata)
            if names is None:
                return None
            small = file.record_count <= _MAX_ROWS
            rows = read_rows(stored, names, wanted, use_threads=not small).select(names)
            if wanted is not None and deleted:
                rows = rows.filter(pa.array(_alive(wanted, len(rows), deleted)))
    except Exception:  # noqa: BLE001 - PyIceberg says what is wrong
        return None
    return rows.rename_columns(target.names).cast(target)


def _alive(wanted: WantedRows, count: int, deleted: Sequence[pa.ChunkedArray]) -> np.ndarray:
    """Return which of the wanted rows of a file are not deleted."""
    gone = np.concatenate([positions.to_numpy() for positions in deleted])
    alive: np.ndarray = ~np.isin(wanted.positions(count), gone)
    return alive


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
