"""Read the values of partition columns from the names of a directory's folders."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from lakesieve.errors import UnsupportedError
from lakesieve.tables.parquet.partitions import partition_of, partition_value
from lakesieve.tables.paths import NULL_PARTITION, table_root
from lakesieve.tables.statistics import FileBounds, FileStatistics, partition_bounds
from lakesieve.tables.struct_schema import stored_columns
from lakesieve.tables.value_codes import value_code

if TYPE_CHECKING:
    from collections.abc import Collection

    import pyarrow as pa

    from lakesieve.sieve import Code
    from lakesieve.tables.contract import Column


def parquet_statistics(schema: str, location: str, files: pa.Table) -> FileStatistics | None:
    """Return the statistics of a directory, or ``None`` if it has no partitions.

    ``schema`` is the schema document, and ``files`` are the live files.
    """
    partitioning = {name.lower() for name in json.loads(schema)["partitioning"]}
    if not partitioning:
        return None
    columns, _ = stored_columns(schema)
    by_id = {c.field_id: c for path, c in columns.items() if path[0].lower() in partitioning}
    paths = files.column("path")

    def bounds(fields: Collection[int]) -> FileBounds:
        partitions = _partitions(paths, location)
        parts = []
        for column in (by_id[field] for field in fields if field in by_id):
            name = column.path[0].lower()
            texts = [partition.get(name) for partition in partitions]
            is_null = [text == NULL_PARTITION for text in texts]
            parts.append(partition_bounds(column, [_code(t, column) for t in texts], is_null))
        return FileBounds(paths=paths, parts=parts)

    return FileStatistics(columns=columns, read=bounds)


def _partitions(paths: pa.ChunkedArray, location: str) -> list[dict[str, str]]:
    """Return the escaped partition values of each file, by lower-case column name."""
    root = f"{table_root(location)}/"
    by_folder: dict[str, dict[str, str]] = {}
    partitions = []
    for path in paths.to_pylist():
        folder = path.removeprefix(root).rpartition("/")[0] if path.startswith(root) else ""
        if folder not in by_folder:
            partition = partition_of(folder)
            names = map(str.lower, partition.names)
            by_folder[folder] = dict(zip(names, partition.values, strict=True))
        partitions.append(by_folder[folder])
    return partitions


def _code(text: str | None, column: Column) -> Code | None:
    """Return the code of the value in a folder's name, or ``None`` if its type is uncertain."""
    if text is None or text == NULL_PARTITION:
        return None
    try:
        value = partition_value(text, column.type, column.path[0])
        # the moment of a timestamp depends on the session's time zone
        return None if isinstance(value, str) else value_code(value.as_py(), column)
    except (UnsupportedError, ValueError, ArithmeticError):
        # Python has no date after the year 9999
        return None
