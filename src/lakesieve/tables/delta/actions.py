"""Read the actions in the files of a Delta log, and the data files that remain after them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakesieve.tables.delta.statistics import parsed_stats, record_count
from lakesieve.tables.statistics import MOST_FILES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FILE_SCHEMA = pa.schema(
    [
        ("path", pa.string()),
        ("vector", pa.string()),
        ("size", pa.int64()),
        ("records", pa.int64()),
        ("partition", pa.map_(pa.string(), pa.string())),
        ("stats", pa.string()),
        ("added", pa.bool_()),
    ]
)
"""Actions on data files: ``path`` as logged; ``vector`` the identity of the deletion vector, empty
without one; ``records`` from the statistics, or null; ``partition`` the values of partition columns
more files than statistics are used of; ``added`` is false for files that are removed."""

_FILE_ACTION = pa.struct(
    {
        "path": pa.string(),
        "size": pa.int64(),
        "partitionValues": FILE_SCHEMA.field("partition").type,
        "stats": pa.string(),
        "deletionVector": pa.struct(
            {"storageType": pa.string(), "pathOrInlineDv": pa.string(), "offset": pa.int64()}
        ),
    }
)
# if a line has several actions, Delta for Spark takes the first one in this order
_ORDER = (
    *("add", "remove", "metaData", "txn", "protocol", "cdc", "sidecar", "checkpointMetadata"),
    *("domainMetadata", "commitInfo"),
)
_TABLE_ACTIONS = ("protocol", "metaData")
# nearly all writers begin the statistics like this
_FIRST_RECORDS = r'^\s*\{\s*"numRecords"\s*:\s*(?P<records>\d{1,18})\s*[,}]'
_BATCH_ROWS = 1 << 16


@dataclass(slots=True, kw_only=True)
class LogPart:
    """The content of one file of the log.

    Args:
        table: The last ``protocol`` and ``metaData`` actions, in the form of commits.
        sidecars: Names of further files of the same checkpoint.
        files: Batches with ``FILE_SCHEMA``, in the order of the actions.
    """

    table: dict[str, dict[str, Any]] = field(default_factory=dict)
    sidecars: list[str] = field(default_factory=list)
    files: list[pa.RecordBatch] = field(default_factory=list)


def json_actions(data: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the actions of a commit, or of a JSON checkpoint, except those of unknown kinds.

    Raises:
        ValueError: The file is not a commit, or an action lacks a required field.
    """
    for line in data.splitlines():
        if not line.strip():
            continue
        entry = json.loads(line)
        if not isinstance(entry, dict):
            raise ValueError("a line has no action")
        name = next((name for name in _ORDER if entry.get(name) is not None), None)
        if name is None:
            continue
        action = entry[name]
        is_whole = isinstance(action, dict) and (
            name not in {"add", "remove", "sidecar"} or isinstance(action.get("path"), str)
        )
        if not is_whole:
            raise ValueError(f"an action {name} lacks a required field")
        yield name, action


def read_json(data: bytes) -> LogPart:
    """Read a commit or a JSON checkpoint."""
    part = LogPart()
    on_files, added = [], []
    for name, action in json_actions(data):
        if name in {"add", "remove"}:
            partition = action.get("partitionValues") or {}
            on_files.append({**action, "partitionValues": list(partition.items())})
            added.append(name == "add")
        elif name == "sidecar":
            part.sidecars.append(action["path"])
        elif name in _TABLE_ACTIONS:
            part.table[name] = dict(action)
    if on_files:
        rows = pa.array(on_files, _FILE_ACTION)
        part.files.append(_file_batch(rows, pa.array(added), keeps_stats=True))
    return part


def read_parquet(data: bytes) -> LogPart:
    """Read a Parquet checkpoint or a sidecar. Its data files are read in batches of rows."""
    part = LogPart()
    file = pq.ParquetFile(pa.BufferReader(data))
    names = file.schema_arrow.names
    for name in (*_TABLE_ACTIONS, "sidecar"):
        for action in _few_actions(file, name) if name in names else ():
            if name == "sidecar":
                part.sidecars.append(action["path"].as_py())
            else:
                part.table[name] = _as_in_commits(action.as_py())
    for name in ("add", "remove"):
        if name not in names:
            continue
        columns = _columns_of(name, file.schema_arrow.field(name).type)
        # statistics of more files would take most of the memory, and would not be used
        keeps_stats = name == "add" and file.metadata.num_rows <= MOST_FILES
        for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=columns):
            rows = batch.column(name).drop_null()
            if len(rows):
                added = pa.repeat(name == "add", len(rows))
                part.files.append(_file_batch(rows, added, keeps_stats=keeps_stats))
    return part


def _few_actions(file: pq.ParquetFile, name: str) -> Iterator[pa.StructScalar]:
    """Yield the actions of a kind that few rows of a checkpoint have."""
    # one field tells how many there are; the others are read up to the last one
    first = file.schema_arrow.field(name).type.field(0).name
    is_there = file.read(columns=[f"{name}.{first}"]).column(name).is_valid()
    left = pc.sum(is_there, min_count=0).as_py()
    if not left:
        return
    for batch in file.iter_batches(batch_size=_BATCH_ROWS, columns=[name]):
        actions = batch.column(name).drop_null()
        yield from actions
        left -= len(actions)
        if not left:
            return


def _as_in_commits(action: dict[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in action.items() if value is not None}
    if isinstance(plain.get("configuration"), list):
        plain["configuration"] = dict(plain["configuration"])
    return plain


def _columns_of(name: str, action: pa.StructType) -> list[str]:
    there = {field.name: field.type for field in action}
    columns = [f"{name}.{field.name}" for field in _FILE_ACTION if field.name in there]
    if "stats_parsed" in there and there["stats_parsed"].get_field_index("numRecords") >= 0:
        columns.append(f"{name}.stats_parsed.numRecords")
    return columns


def _file_batch(actions: pa.StructArray, added: pa.Array, *, keeps_stats: bool) -> pa.RecordBatch:
    rows = len(actions)

    def part(name: str) -> pa.Array:
        kind = _FILE_ACTION.field(name).type
        is_there = actions.type.get_field_index(name) >= 0
        return pc.struct_field(actions, name) if is_there else pa.nulls(rows, kind)

    stats = part("stats").cast(pa.string())
    records = _records_of(stats)
    if actions.type.get_field_index("stats_parsed") >= 0:
        parsed = pc.struct_field(actions, ["stats_parsed", "numRecords"]).cast(pa.int64())
        records = pc.coalesce(records, parsed)
    columns = {
        "path": part("path"),
        "vector": _vector_ids(part("deletionVector")),
        "size": part("size"),
        "records": records,
        "partition": part("partitionValues"),
        "stats": stats if keeps_stats else pa.nulls(rows, pa.string()),
        "added": added,
    }
    arrays = [columns[field.name].cast(field.type) for field in FILE_SCHEMA]
    return pa.RecordBatch.from_arrays(arrays, schema=FILE_SCHEMA)


def _vector_ids(vectors: pa.StructArray) -> pa.Array:
    """Return the identity of each deletion vector, or an empty text without one."""
    offset = pc.struct_field(vectors, "offset").cast(pa.string())
    suffix = pc.fill_null(pc.binary_join_element_wise("@", offset, ""), "")
    kind, text = (pc.struct_field(vectors, name) for name in ("storageType", "pathOrInlineDv"))
    named = pc.binary_join_element_wise(kind, text, suffix, "")
    is_partial = pc.and_(pc.is_null(named), pc.or_(pc.is_valid(kind), pc.is_valid(text)))
    if pc.any(is_partial, min_count=0).as_py():
        # without its vector, deleted rows of the file would come back
        raise ValueError("a deletion vector lacks a required field")
    return pc.fill_null(named, "")


def _records_of(stats: pa.StringArray) -> pa.Array:
    """Read the number of records from statistics, or null if they do not have it."""
    firsts = pc.extract_regex(stats, _FIRST_RECORDS)
    records = pc.struct_field(firsts, "records").cast(pa.int64())
    others = pc.and_(pc.is_null(records), pc.is_valid(stats))
    if not pc.any(others, min_count=0).as_py():
        return records
    counts = [record_count(parsed_stats(text)) for text in stats.filter(others).to_pylist()]
    return pc.replace_with_mask(records, others, pa.array(counts, pa.int64()))


def reconciled(older: pa.Table, newer: pa.Table) -> pa.Table:
    """Keep the last action on each file. A file is identified by path and deletion vector."""
    newer = _last(newer)
    key = _key(older)
    # counting distinct texts takes twice the time of finding them
    if len(key.unique()) < len(key):
        # checkpoints of other writers than Delta may need a full merge
        return _last(pa.concat_tables([older, newer]))
    if newer.num_rows:
        older = older.filter(pc.invert(pc.is_in(key, value_set=_key(newer))))
    return pa.concat_tables([older, newer])


def _last(files: pa.Table) -> pa.Table:
    if not files.num_rows:
        return files
    keyed = pa.table({"key": _key(files), "at": pa.array(range(files.num_rows), pa.int64())})
    last = keyed.group_by("key").aggregate([("at", "max")])
    return files.take(last.column("at_max").sort())


def _key(files: pa.Table) -> pa.ChunkedArray:
    """Return a text that differs for different files. No path or identity has a line break."""
    paths, vectors = files.column("path"), files.column("vector")
    marked = pc.not_equal(vectors, "")
    if not pc.any(marked, min_count=0).as_py():
        return paths
    return pc.if_else(marked, pc.binary_join_element_wise(paths, vectors, "\n"), paths)
