"""Actions on data files in a Delta log, and the files that they leave."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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
as text, by their names in the log; ``stats`` the statistics as JSON, null where the log has none or
more files than statistics are used of; ``added`` is false for files that are removed."""

# where a line has several actions, Delta for Spark takes the first of these
_ORDER = (
    *("add", "remove", "metaData", "txn", "protocol", "cdc", "sidecar", "checkpointMetadata"),
    *("domainMetadata", "commitInfo"),
)
_NUMBER_OF_RECORDS = pa.schema([("numRecords", pa.int64())])
# as nearly all writers begin the statistics
_FIRST_RECORDS = r'^\s*\{\s*"numRecords"\s*:\s*(?P<records>\d{1,18})\s*[,}]'


def actions_of(data: bytes) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Read the actions of a commit, or of a checkpoint in JSON, except those of unknown kinds.

    Raises:
        ValueError: It is not such a file, or lacks what an action needs.
    """
    for line in data.splitlines():
        if not line.strip():
            continue
        entry = json.loads(line)
        if not isinstance(entry, dict):
            raise ValueError("a line without an action")
        name = next((name for name in _ORDER if entry.get(name) is not None), None)
        if name is None:
            continue
        action = entry[name]
        is_whole = isinstance(action, dict) and (
            name not in {"add", "remove", "sidecar"} or isinstance(action.get("path"), str)
        )
        if not is_whole:
            raise ValueError(f"an action {name} without what it needs")
        yield name, action


def file_actions(actions: Iterable[tuple[str, Mapping[str, Any]]]) -> pa.Table:
    """Tabulate the actions ``add`` and ``remove`` of a commit, in their order."""
    rows = []
    for name, action in actions:
        partition = action.get("partitionValues") or {}
        rows.append(
            {
                "path": action["path"],
                "vector": _vector_id(action.get("deletionVector") or {}),
                "size": action.get("size"),
                "partition": list(partition.items()),
                "stats": action.get("stats") if name == "add" else None,
                "added": name == "add",
            }
        )
    table = pa.Table.from_pylist(rows, schema=FILE_SCHEMA)
    records = records_of(table.column("stats"))
    return table.set_column(FILE_SCHEMA.get_field_index("records"), "records", records)


def _vector_id(vector: Mapping[str, Any]) -> str:
    if not vector:
        return ""
    offset = vector.get("offset")
    suffix = "" if offset is None else f"@{offset}"
    return f"{vector['storageType']}{vector['pathOrInlineDv']}{suffix}"


def records_of(stats: pa.ChunkedArray) -> pa.ChunkedArray:
    """Read the number of records from statistics; null where they do not tell."""
    firsts = pc.extract_regex(stats, _FIRST_RECORDS)
    records = pc.struct_field(firsts, "records").cast(pa.int64())
    others = pc.and_(pc.is_null(records), pc.is_valid(stats))
    if not pc.any(others, min_count=0).as_py():
        return records
    found = _parsed(stats.filter(others))
    return pa.chunked_array(
        [pc.replace_with_mask(records.combine_chunks(), others.combine_chunks(), found)]
    )


def _parsed(stats: pa.ChunkedArray) -> pa.Array:
    from pyarrow import json as pa_json

    texts = pc.replace_substring_regex(stats, r"[\r\n]+", " ")
    texts = pc.if_else(pc.equal(pc.utf8_trim_whitespace(texts), ""), "{}", texts)
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
        return pa.nulls(len(texts), pa.int64())
    found = read.column("numRecords").combine_chunks()
    return found if len(found) == len(texts) else pa.nulls(len(texts), pa.int64())


def reconciled(older: pa.Table, newer: pa.Table) -> pa.Table:
    """Keep the last action on each file, which is known by its path and its deletion vector."""
    newer = _last(newer)
    key = _key(older)
    if pc.count_distinct(key).as_py() < len(key):
        # not as Delta writes checkpoints
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
    """A text that differs for different files; no path and no identity has a line break."""
    paths, vectors = files.column("path"), files.column("vector")
    marked = pc.not_equal(vectors, "")
    if not pc.any(marked, min_count=0).as_py():
        return paths
    return pc.if_else(marked, pc.binary_join_element_wise(paths, vectors, "\n"), paths)
