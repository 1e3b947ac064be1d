"""Checkpoints of a Delta log in Parquet: classic ones, their parts, and files beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakesieve.tables.delta.actions import FILE_SCHEMA, records_of
from lakesieve.tables.statistics import MOST_FILES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_OTHERS = ("protocol", "metaData", "sidecar")
_FILE_FIELDS = ("path", "size", "deletionVector", "stats", "partitionValues")
_ROWS = 1 << 16


def checkpoint_actions(file: pq.ParquetFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """Read the actions of a checkpoint that are not on data files."""
    for name in _OTHERS:
        if name in file.schema_arrow.names:
            column = file.read(columns=[name]).column(name).drop_null()
            yield from ((name, _plain(value)) for value in column.to_pylist())


def _plain(value: dict[str, Any]) -> dict[str, Any]:
    """A struct as commits have it: without nulls, the configuration as a dictionary."""
    plain = {key: entry for key, entry in value.items() if entry is not None}
    configuration = plain.get("configuration")
    if isinstance(configuration, list):
        plain["configuration"] = dict(configuration)
    return plain


def checkpoint_files(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """Read the added and the removed files of a checkpoint, some rows at a time.

    Returns:
        Batches of ``FILE_SCHEMA``.
    """
    for action in ("add", "remove"):
        if action not in file.schema_arrow.names:
            continue
        struct = file.schema_arrow.field(action).type
        names = _names(struct)
        wanted = [name for name in _FILE_FIELDS if name in names]
        columns = [f"{action}.{name}" for name in wanted]
        is_counted = "stats_parsed" in names and "numRecords" in _names(
            struct.field("stats_parsed").type
        )
        if is_counted:
            columns.append(f"{action}.stats_parsed.numRecords")
        # the statistics of more files would take most of the memory, and are not used
        keeps_stats = action == "add" and file.metadata.num_rows <= MOST_FILES
        for batch in file.iter_batches(batch_size=_ROWS, columns=columns):
            whole = batch.column(action)
            rows = whole.filter(pc.is_valid(whole))
            if len(rows):
                yield _files(
                    rows,
                    wanted,
                    is_counted=is_counted,
                    keeps_stats=keeps_stats,
                    is_added=action == "add",
                )


def _names(struct: pa.DataType) -> list[str]:
    return [struct.field(at).name for at in range(struct.num_fields)]


def _files(
    actions: pa.StructArray,
    names: Sequence[str],
    *,
    is_counted: bool,
    keeps_stats: bool,
    is_added: bool,
) -> pa.RecordBatch:
    rows = len(actions)

    def part(name: str, kind: pa.DataType) -> pa.Array:
        if name not in names:
            return pa.nulls(rows, kind)
        return pc.struct_field(actions, name).cast(kind)

    vectors = pa.repeat("", rows)
    if "deletionVector" in names:
        vector = pc.struct_field(actions, "deletionVector")
        offset = pc.struct_field(vector, "offset").cast(pa.string())
        suffix = pc.fill_null(pc.binary_join_element_wise("@", offset, ""), "")
        named = pc.binary_join_element_wise(
            pc.struct_field(vector, "storageType"), pc.struct_field(vector, "pathOrInlineDv"), ""
        )
        vectors = pc.fill_null(pc.binary_join_element_wise(named, suffix, ""), "")
    stats = part("stats", pa.string())
    records = records_of(pa.chunked_array([stats])).combine_chunks()
    if is_counted:
        parsed = pc.struct_field(actions, ["stats_parsed", "numRecords"]).cast(pa.int64())
        records = pc.coalesce(records, parsed)
    columns = [
        part("path", pa.string()),
        vectors,
        part("size", pa.int64()),
        records,
        part("partitionValues", FILE_SCHEMA.field("partition").type),
        stats if keeps_stats else pa.nulls(rows, pa.string()),
        pa.repeat(is_added, rows),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=FILE_SCHEMA)
