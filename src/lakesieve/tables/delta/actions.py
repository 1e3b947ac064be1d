"""Actions on data files in a Delta log, of commits and of checkpoints, and their outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pyarrow.parquet as pq

__all__ = [
    "FILE_SCHEMA",
    "decoded",
    "file_row",
    "files_of",
    "number_of_records",
    "plain",
    "reconciled",
]

FILE_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("vector", pa.string()),
        ("size", pa.int64()),
        ("stats", pa.string()),
        ("partition", pa.map_(pa.string(), pa.string())),
        ("added", pa.bool_()),
    ]
)
"""Data files as logged: ``vector`` is the identity of the deletion vector, empty without one,
``partition`` the values of partition columns, as text, by their names in the log."""

_NUMBER_OF_RECORDS = pa.schema([("numRecords", pa.int64())])


def plain(value: Any) -> Any:
    """A struct of a checkpoint as the commits have it: maps as dictionaries.

    Args:
        value: As pyarrow has it.
    """
    if not isinstance(value, dict):
        return value
    plain = {key: entry for key, entry in value.items() if entry is not None}
    configuration = plain.get("configuration")
    if isinstance(configuration, list):
        plain["configuration"] = dict(configuration)
    return plain


def file_row(action: Mapping[str, Any], *, added: bool) -> dict[str, Any]:
    """An action of a commit as a row of ``FILE_SCHEMA``.

    Args:
        action: The action.
        added: Whether it adds the file.
    """
    vector = action.get("deletionVector") or {}
    return {
        "path": action["path"],
        "vector": _vector_id(vector),
        "size": action.get("size"),
        "stats": action.get("stats"),
        "partition": list((action.get("partitionValues") or {}).items()),
        "added": added,
    }


def _vector_id(vector: Mapping[str, Any]) -> str:
    if not vector:
        return ""
    offset = vector.get("offset")
    suffix = "" if offset is None else f"@{offset}"
    return f"{vector['storageType']}{vector['pathOrInlineDv']}{suffix}"


def files_of(file: pq.ParquetFile, action: str) -> pa.Table:
    """The added or the removed files of a checkpoint.

    Args:
        file: The checkpoint, or a part of it.
        action: ``add`` or ``remove``.
    """
    struct = file.schema_arrow.field(action).type
    names = [struct.field(at).name for at in range(struct.num_fields)]
    known = ("path", "size", "deletionVector", "stats", "partitionValues")
    wanted = [name for name in known if name in names]
    counts = "stats_parsed" in names and "numRecords" in [f.name for f in _fields(struct)]
    columns = [f"{action}.{name}" for name in wanted]
    if counts:
        columns.append(f"{action}.stats_parsed.numRecords")
    whole = file.read(columns=columns).column(action).combine_chunks()
    column = whole.filter(pc.is_valid(whole))
    rows = len(column)

    def part(name: str, kind: pa.DataType) -> pa.Array:
        if name not in wanted:
            return pa.nulls(rows, kind)
        return pc.struct_field(column, name).cast(kind)

    stats = part("stats", pa.string())
    if counts:
        number = pc.struct_field(column, ["stats_parsed", "numRecords"]).cast(pa.string())
        text = pc.binary_join_element_wise('{"numRecords":', number, "}", "")
        stats = pc.coalesce(stats, text)
    vectors = pa.array([""] * rows, pa.string())
    if "deletionVector" in wanted:
        vector = pc.struct_field(column, "deletionVector")
        offset = pc.struct_field(vector, "offset").cast(pa.string())
        suffix = pc.fill_null(pc.binary_join_element_wise("@", offset, ""), "")
        named = pc.binary_join_element_wise(
            pc.struct_field(vector, "storageType"), pc.struct_field(vector, "pathOrInlineDv"), ""
        )
        vectors = pc.fill_null(pc.binary_join_element_wise(named, suffix, ""), "")
    return pa.table(
        {
            "path": part("path", pa.string()),
            "vector": vectors,
            "size": part("size", pa.int64()),
            "stats": stats,
            "partition": part("partitionValues", FILE_SCHEMA.field("partition").type),
            "added": pa.array([action == "add"] * rows, pa.bool_()),
        },
        schema=FILE_SCHEMA,
    )


def _fields(struct: pa.DataType) -> Sequence[pa.Field]:
    parsed = struct.field("stats_parsed").type
    return [parsed.field(at) for at in range(parsed.num_fields)]


def reconciled(files: pa.Table) -> pa.Table:
    """The last action on each file, which has a path and a deletion vector.

    Args:
        files: All actions in order.
    """
    order = pa.array(range(files.num_rows), pa.int64())
    numbered = files.append_column("order", order)
    last = numbered.group_by(["path", "vector"]).aggregate([("order", "max")])
    return files.take(last.column("order_max").sort())


def number_of_records(stats: pa.ChunkedArray) -> pa.ChunkedArray:
    """Number of records by the statistics of each file; null where they do not tell.

    Args:
        stats: The statistics, as JSON.
    """
    from pyarrow import json as pa_json

    texts = pc.replace_substring_regex(pc.fill_null(stats, "{}"), r"[\r\n]+", " ")
    texts = pc.if_else(pc.equal(pc.utf8_trim_whitespace(texts), ""), "{}", texts)
    if not len(texts):
        return pa.chunked_array([pa.array([], pa.int64())])
    joined = "\n".join(texts.to_pylist()).encode()
    options = pa_json.ParseOptions(
        explicit_schema=_NUMBER_OF_RECORDS, unexpected_field_behavior="ignore"
    )
    try:
        read = pa_json.read_json(
            pa.BufferReader(joined),
            parse_options=options,
            read_options=pa_json.ReadOptions(block_size=max(1 << 20, len(joined) + 1)),
        )
    except pa.ArrowException:
        return pa.chunked_array([pa.nulls(len(texts), pa.int64())])
    found = read.column("numRecords")
    return (
        found if len(found) == len(texts) else pa.chunked_array([pa.nulls(len(texts), pa.int64())])
    )


def decoded(paths: Iterable[str]) -> list[str]:
    """Percent-decode paths; a plus sign stands for itself.

    Args:
        paths: As they are logged.
    """
    from urllib.parse import unquote

    return [unquote(path) for path in paths]
