"""The log of a Delta table of very many files, of which there is only the metadata."""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from tests.kit.building import build_index

from bench.synthetic import ROWS_A_FILE
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["make_delta"]

_PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
_FIELDS = {"k": "long", "v": "double", "s": "string"}
_TEXTS = pa.map_(pa.string(), pa.string())
_ADD = pa.struct(
    [
        ("path", pa.string()),
        ("partitionValues", _TEXTS),
        ("size", pa.int64()),
        ("modificationTime", pa.int64()),
        ("dataChange", pa.bool_()),
        ("stats", pa.string()),
    ]
)
_METADATA = pa.struct(
    [
        ("id", pa.string()),
        ("format", pa.struct([("provider", pa.string()), ("options", _TEXTS)])),
        ("schemaString", pa.string()),
        ("partitionColumns", pa.list_(pa.string())),
        ("configuration", _TEXTS),
        ("createdTime", pa.int64()),
    ]
)


def make_delta(folder: Path, files: int) -> None:
    """A checkpoint that adds the files of a table of random keys, and an index over them.

    Args:
        folder: Of the table.
        files: How many files there are.
    """
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    drawn = np.random.default_rng(1)
    rows = ROWS_A_FILE * files
    keys = drawn.permutation(rows)
    names = [
        f"part-{number:05d}-{uuid.UUID(bytes=drawn.bytes(16))}-c000.snappy.parquet"
        for number in range(files)
    ]
    fields = [
        {"name": name, "type": kind, "nullable": True, "metadata": {}}
        for name, kind in _FIELDS.items()
    ]
    metadata = {
        "id": str(uuid.UUID(bytes=drawn.bytes(16))),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
        "createdTime": 0,
    }
    information = {"commitInfo": {"timestamp": 0, "operation": "WRITE", "operationParameters": {}}}
    first = ({"protocol": _PROTOCOL}, {"metaData": metadata})
    for version, actions in enumerate(((information, *first), (information,), (information,))):
        lines = "".join(json.dumps(action) + "\n" for action in actions)
        (log / f"{version:020d}.json").write_text(lines, encoding="utf-8")
    pq.write_table(_checkpoint(metadata, names, rows), log / f"{1:020d}.checkpoint.parquet")
    (log / "_last_checkpoint").write_text(json.dumps({"version": 1, "size": files + 2}))
    by_name = {name: keys[number::files] for number, name in enumerate(names)}
    table = open_table(f"delta:{folder}")
    build_index(table, "k", lambda path: pa.array(by_name[path.rpartition("/")[2]]))


def _checkpoint(metadata: Mapping[str, Any], names: list[str], keys: int) -> pa.Table:
    files = len(names)
    # minima and maxima that leave every file in every plan
    stats = {
        "numRecords": ROWS_A_FILE,
        "minValues": {"k": 0, "v": 0.0, "s": "name-0"},
        "maxValues": {"k": keys, "v": 1.0, "s": "name-9"},
        "nullCount": dict.fromkeys(_FIELDS, 0),
    }
    none = pa.MapArray.from_arrays(
        np.zeros(files + 1, np.int32), pa.array([], pa.string()), pa.array([], pa.string())
    )
    columns = [
        pa.array(names),
        none,
        pa.repeat(10_000, files),
        pa.repeat(0, files),
        pa.repeat(False, files),
        pa.repeat(json.dumps(stats), files),
    ]
    adds = pa.StructArray.from_arrays(columns, fields=list(_ADD))
    described = {
        **metadata,
        "configuration": [],
        "format": {"provider": "parquet", "options": []},
    }
    numbers = pa.struct([(name, pa.int32()) for name in _PROTOCOL])
    return pa.table(
        {
            "protocol": pa.array([_PROTOCOL, None, *[None] * files], numbers),
            "metaData": pa.array([None, described, *[None] * files], _METADATA),
            "add": pa.concat_arrays([pa.nulls(2, _ADD), adds]),
        }
    )
