"""The values of partition columns in the names of a directory's folders."""

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
    """Make the statistics of a directory by its schema document, its folder and its live files.

    There are none for a directory without partitions.
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
    """The values of each file's folders, escaped, by the names of their columns in lower case."""
    root = f"{table_root(location)}/"
    by_folder: dict[str, dict[str, str]] = {}
    found = []
    for path in paths.to_pylist():
        folder = path.removeprefix(root).rpartition("/")[0] if path.startswith(root) else ""
        if folder not in by_folder:
            partition = partition_of(folder)
            names = map(str.lower, partition.names)
            by_folder[folder] = dict(zip(names, partition.values, strict=True))
        found.append(by_folder[folder])
    return found


def _code(text: str | None, column: Column) -> Code | None:
    """The code of the value in the name of a folder, if it is surely one of the column's type."""
    if text is None or text == NULL_PARTITION:
        return None
    try:
        value = partition_value(text, column.type, column.path[0])
        # the moment of a timestamp depends on the time zone of the session
        return None if isinstance(value, str) else value_code(value.as_py(), column)
    except (UnsupportedError, ValueError, ArithmeticError):
        # Python knows no date after the year 9999
        return None
