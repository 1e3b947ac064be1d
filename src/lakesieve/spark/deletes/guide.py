"""Use indexes on the equality columns to find the data files that hold a deleted key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow.compute as pc

from lakesieve.errors import LakesieveError
from lakesieve.index import (
    IndexRegistry,
    OpenedIndex,
    Reason,
    ReasonCode,
    UsableIndex,
    broken_index,
    usable_indexes,
)
from lakesieve.sieve import KeyType
from lakesieve.spark.deletes.read import column
from lakesieve.spark.session.key_units import rows_of_keys
from lakesieve.spark.tables.hadoop import storage_options
from lakesieve.spark.tables.iceberg.loading import file_io_of
from lakesieve.spark.tables.reading import lines_of
from lakesieve.tables.iceberg.schema import NAME_MAPPING, columns_of_schema
from lakesieve.tables.paths import normal_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.spark.deletes.version_deletes import DeleteKind, VersionDeletes

# from this many keys on, a task of its own is worth it
_TASK_ROWS = 50_000


def narrow(
    spark: SparkSession, deletes: VersionDeletes, locations: Iterable[str] = ()
) -> list[Reason]:
    """Leave out data files without deleted keys, by indexes on the equality columns.

    Data files that no index covers stay. If an index cannot be read, all data files stay.

    Returns:
        Coded reasons: what each index did.
    """
    if deletes.table.properties().get(NAME_MAPPING) is not None:
        # by their ids alone, because the table's name mapping may apply
        detail = "data files may be read by the name mapping of the table"
        return [Reason(code=ReasonCode.SCAN_UNSUPPORTED, detail=detail)]
    location, uuid = str(deletes.table.location()), str(deletes.table.uuid())
    registry = IndexRegistry(locations, storage_options(spark))
    indexes, reasons = registry.indexes(location, uuid, file_io=file_io_of(spark, deletes.table))
    types = {
        c.field_id: KeyType(kind=c.kind, scale=c.scale, precision=c.precision)
        for c in columns_of_schema(deletes.java.schemaJson()).values()
        if c.kind != "other"
    }
    kinds = {field: (key.kind, key.scale) for field, key in types.items()}
    usable, unfit = usable_indexes(indexes, kinds, uuid)
    reasons += unfit
    for kind in deletes.kinds_of():
        index = _best(kind, usable)
        if index is None:
            continue
        try:
            reasons.append(_narrow(spark, deletes, kind, index, types))
        except Exception as error:  # noqa: BLE001 - without the index all data files are read
            # the error of a worker contains the worker's whole stack
            short = error if isinstance(error, LakesieveError) else OSError(_first_line(error))
            reasons.append(broken_index(index.definition.name, short))
    return reasons


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _best(kind: DeleteKind, usable: Sequence[UsableIndex]) -> OpenedIndex | None:
    """Return the index on the most of a kind's columns and on no other columns."""
    compared = {column.field_id for column in kind.columns}
    fitting = [
        one.index
        for one in usable
        if len(one.columns) == len(one.index.definition.columns)
        and {column.field_id for column in one.columns} <= compared
    ]
    return max(fitting, key=lambda index: len(index.definition.columns), default=None)


def _narrow(
    spark: SparkSession,
    deletes: VersionDeletes,
    kind: DeleteKind,
    index: OpenedIndex,
    types: dict[int, KeyType],
) -> Reason:
    definition = index.definition
    paths = index.paths().combine_chunks()
    files = deletes.java.reachedBy(kind.number)
    reached = lines_of(iter(files.paths, ""))
    positions = pc.index_in(normal_paths(reached), value_set=paths)
    covered_numbers = positions.drop_null().to_numpy()
    is_reached = np.zeros(len(paths), bool)
    is_reached[covered_numbers] = True
    by_id = {c.field_id: c.path for c in kind.columns}
    keys = [column(by_id[c.field_id]).alias(f"key_{n}") for n, c in enumerate(definition.columns)]
    # without the explicit number, Spark would join small partitions into one
    most = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    has_deleted_key = rows_of_keys(
        deletes.delete_rows(kind).select(*keys),
        index,
        [types[c.field_id] for c in definition.columns],
        tasks=max(1, min(most, kind.records // _TASK_ROWS)),
        wanted=is_reached,
    ).keep
    free = np.array(pc.is_valid(positions))
    free[free] = ~has_deleted_key[covered_numbers]
    files.narrow(np.packbits(free, bitorder="little").tobytes())
    count = np.count_nonzero(has_deleted_key[covered_numbers])
    detail = f"{definition.name}: {count} of {len(reached)} data files"
    return Reason(code=ReasonCode.INDEX_USED, detail=f"{detail} hold a deleted key")
