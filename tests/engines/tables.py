"""Real tables and real indexes of them, made without Spark."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.format import SegmentEntry, catalogue_id
from lakesieve.index.access import without_engine
from lakesieve.index.definition import define, key_columns
from lakesieve.sieve import KeyType
from lakesieve.spark.build.stages import CutPlan, KeyRuns, ScatterPlan, SegmentPlan, cut, scatter
from lakesieve.store import Changes, IndexStore, stage_catalogue

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from lakesieve.tables import TableReader

__all__ = ["COLUMNS", "index_of", "rows"]

COLUMNS: dict[str, pa.DataType] = {
    "id": pa.int64(),
    "small": pa.int32(),
    "text": pa.string(),
    "real": pa.float64(),
    "money": pa.decimal128(12, 2),
    "day": pa.date32(),
    "moment": pa.timestamp("us", "UTC"),
    "plain": pa.timestamp("us"),
    "data": pa.binary(),
    "flag": pa.bool_(),
}
"""Columns of the tables, by name."""

_TEXTS = ("", "a", "ab", "abc", "ä", "日本", "z" * 300, "%_", "'", "\x00", "A")
_REALS = (0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), float("-inf"), 5e-324, 1e300)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _value(drawn: random.Random, name: str) -> Any:
    if drawn.random() < 0.15:
        return None
    near = drawn.randrange(-20, 20)
    match name:
        case "id":
            return drawn.choice([near, 2**63 - 1, -(2**63), near * 10**9])
        case "small":
            return near
        case "text":
            return drawn.choice(_TEXTS) + drawn.choice(("", "", "b", "é"))
        case "real":
            return drawn.choice(_REALS) if drawn.random() < 0.5 else near / 4
        case "money":
            return Decimal(near * 25) / 100
        case "day":
            return date(2000, 1, 1) + timedelta(days=near * 100)
        case "moment" | "plain":
            moment = _EPOCH + timedelta(seconds=near * 86_399, microseconds=near)
            return moment if name == "moment" else moment.replace(tzinfo=None)
        case "data":
            return bytes([near % 256, 255, 0])[: drawn.randrange(4)]
    return drawn.random() < 0.5


def rows(drawn: random.Random, count: int) -> pa.Table:
    """Rows whose values meet often.

    Args:
        drawn: Draws them.
        count: How many.
    """
    return pa.table(
        {
            name: pa.array([_value(drawn, name) for _ in range(count)], kind)
            for name, kind in COLUMNS.items()
        }
    )


def index_of(
    table: TableReader,
    column: str,
    *,
    covers: Callable[[str], bool],
    read: Callable[[str, str], pa.ChunkedArray] | None = None,
) -> None:
    """Index the data files of the current version on one column, beside the table.

    Args:
        table: The table.
        column: Name of the column.
        covers: Tells by its path whether a file is indexed.
        read: Reads a column of a data file, by its path and the column's name.
    """
    access = without_engine()
    version = table.version()
    keys = key_columns(table, version, [column])
    definition = define(table, keys, column, budget=None, absent_hits=1 / 256, compaction="8")
    store = IndexStore(access.new_storage(table, column, None))
    files = table.live_files(version)
    kept = pa.array([covers(path) for path in files.column("path").to_pylist()], pa.bool_())
    files = files.filter(kept)
    paths = files.column("path").to_pylist()
    values = [(read or _column)(path, column).combine_chunks() for path in paths]
    key_type = KeyType(kind=keys[0].kind, scale=keys[0].scale, precision=keys[0].precision)
    ordinals = np.repeat(np.arange(len(paths)), [len(each) for each in values])
    column_values = pa.concat_arrays(values) if values else pa.array([], COLUMNS[column])
    if key_type.kind == "string":
        column_values = column_values.cast(pa.binary())
    batch = pa.record_batch([column_values, pa.array(ordinals, pa.int64())], [column, "file"])
    runs = KeyRuns(columns=(0,), key_types=(key_type,), boundaries=())
    scattered = ScatterPlan(
        runs=(runs,),
        hashes=np.arange(len(paths)),
        ordinals=np.arange(len(paths), dtype=np.int32),
    )
    of = SegmentPlan(
        storage=store.storage,
        tally_bucket=runs.tally_bucket,
        absent_hits=definition.absent_hits,
        budget=None,
    )
    cuts = CutPlan(
        segments=(of,), catalogue=catalogue_id(files.column("path")), unit_count=len(paths)
    )
    segments, tally = [], np.zeros((2, len(paths)), np.int64)
    for out in cut(cuts)(scatter(scattered)([batch])):
        _, kind, body = (part[0].as_py() for part in out.columns)
        if kind == "tally":
            tally += np.frombuffer(body, np.int64).reshape(2, -1)
        else:
            segments.append(SegmentEntry.from_json(json.loads(body)))
    listed = pa.table({name: files.column(name) for name in ("path", "size")})
    listed = listed.append_column("records", pa.array(tally[0]))
    listed = listed.append_column("has_null", pa.array(tally[1] > 0))
    listed = listed.append_column("has_value", pa.array(tally[0] > tally[1]))
    entry = stage_catalogue(store.storage, listed, segments=segments, definition=definition)
    store.create(
        definition,
        Changes(operation="create", add_catalogues=(entry,), add_segments=tuple(segments)),
    )


def _column(path: str, column: str) -> pa.ChunkedArray:
    return pq.read_table(path.removeprefix("file:"), columns=[column]).column(column)
