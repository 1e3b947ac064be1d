"""Real tables and real indexes of them, made without Spark."""

from __future__ import annotations

import operator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from tests.kit.building import build_index

from lakesieve.index.access import without_engine
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from lakesieve.tables import TableReader

__all__ = [
    "COLUMNS",
    "covered_files",
    "drawn_table",
    "index_of",
    "indexes_with_gaps",
    "rows",
    "rows_by_file",
]

COLUMNS: dict[str, pa.DataType] = {
    "id": pa.int64(),
    "small": pa.int32(),
    "text": pa.string(),
    "real": pa.float64(),
    "single": pa.float32(),
    "money": pa.decimal128(38, 2),
    "day": pa.date32(),
    "moment": pa.timestamp("us", "UTC"),
    "plain": pa.timestamp("us"),
    "data": pa.binary(),
    "flag": pa.bool_(),
}
"""Columns of the tables, by name."""

_TEXTS = ("", "a", "ab", "abc", "ä", "日本", "z" * 300, "%_", "'", "\x00", "A")
_REALS = (0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), float("-inf"), 5e-324, 1e300, 0.1)
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
        case "real" | "single":
            return drawn.choice(_REALS) if drawn.random() < 0.5 else near / 4
        case "money":
            # more digits than arithmetic of Python keeps by itself
            return Decimal(f"{drawn.choice((0, 10**34)) + near * 25}e-2")
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
    column: str | Sequence[str],
    *,
    covers: Callable[[str], bool],
    rows_per_block: int = 0,
) -> None:
    """Index the data files of the current version on columns, beside the table.

    Args:
        table: The table.
        column: Name of the column, or of several.
        covers: Tells by its path whether a file is indexed.
        rows_per_block: Rows of a block; 0 for whole data files.
    """
    names = [column] if isinstance(column, str) else list(column)

    def read(path: str) -> list[pa.Array]:
        # a file of a directory is known by its size and time, too
        file = path.removeprefix("file:").partition("#")[0]
        found = pq.read_table(file, columns=names)
        return [found.column(name).combine_chunks() for name in names]

    build_index(table, names, read, covers=covers, rows_per_block=rows_per_block)


def indexes_with_gaps(
    table: TableReader,
    columns: Iterable[str | Sequence[str]],
    drawn: random.Random,
    *,
    rows_per_block: int = 0,
) -> None:
    """Index the data files on each of some columns, each time without one file that is drawn."""
    paths = table.live_files(table.version()).column("path").to_pylist()
    for column in columns:
        uncovered = drawn.choice(paths)
        index_of(
            table, column, covers=partial(operator.ne, uncovered), rows_per_block=rows_per_block
        )


def drawn_table(
    folder: Path,
    drawn: random.Random,
    indexes: Iterable[Sequence[str]],
    *,
    files: int,
    sizes: Sequence[int],
    rows_per_block: int,
) -> TableReader:
    """Write a folder of drawn rows, with indexes each of which lacks one file.

    Args:
        folder: The folder.
        drawn: Draws rows, and the files that are not indexed.
        indexes: The columns of each index.
        files: Number of data files.
        sizes: Numbers of rows, one of which is drawn for each file.
        rows_per_block: Rows of a block; 0 for whole data files.
    """
    for number in range(files):
        pq.write_table(rows(drawn, drawn.choice(sizes)), folder / f"{number}.parquet")
    made = open_table(f"parquet:{folder}")
    indexes_with_gaps(made, indexes, drawn, rows_per_block=rows_per_block)
    return made


def rows_by_file(table: TableReader) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each live file of a folder, by its path."""
    paths = table.live_files(table.version()).column("path").to_pylist()
    return {
        path: pq.read_table(path.removeprefix("file:").partition("#")[0]).to_pylist()
        for path in paths
    }


def covered_files(table: TableReader) -> dict[str, list[str]]:
    """Return the data files that each index of one column covers, by the name of the column."""
    indexes, _ = without_engine().indexes(table, None)
    return {
        columns[0].name: sorted(set(index.paths().to_pylist()))
        for index in indexes
        if len(columns := index.definition.columns) == 1
    }
