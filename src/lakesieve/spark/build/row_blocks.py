"""Whether an index is one of data files or of row blocks, and of how many rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, InvalidInputError, UnsupportedError
from lakesieve.format import Unit

if TYPE_CHECKING:
    import pyarrow as pa

    from lakesieve.spark.tables import SparkTable

ROWS_PER_BLOCK = 20_000
"""Rows of a block: as many as parquet-java puts into a page at most."""

_LARGE_FILE = 8 << 20
_MANY_BLOCKS = 10
_MOST_ROWS = 2**31 - 1


def unit_of(table: SparkTable, files: pa.Table, wanted: int | str | None) -> Unit:
    """Return the unit of a new index.

    Args:
        table: The table.
        files: The data files of its current version.
        wanted: Rows of a block, ``None`` for whole data files, or ``auto``: row blocks if Spark
            reads blocks of this format, and the data files are so large that this saves time.

    Raises:
        InvalidInputError: It is none of these.
        UnsupportedError: The positions of rows in data files of this format are not known.
    """
    if wanted is None:
        return Unit()
    if wanted == "auto":
        return Unit(ROWS_PER_BLOCK if table.reads_row_blocks and _are_large(files) else 0)
    if not isinstance(wanted, int) or isinstance(wanted, bool) or not 0 < wanted <= _MOST_ROWS:
        raise InvalidInputError(
            f"rows_per_block={wanted!r} is not a number of rows from 1 to {_MOST_ROWS}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint='Give a number such as 20000, None for an index of data files, or "auto".',
        )
    if not table.row_positions:
        raise UnsupportedError(
            f"An index of {table.reader.name} cannot have row blocks.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint=f"Tables of the format {table.reader.format} do not tell the positions of rows. "
            "Leave out rows_per_block.",
        )
    return Unit(wanted)


def _are_large(files: pa.Table) -> bool:
    """Return whether data files have so many bytes and rows that a block is a small part of one."""
    count = files.num_rows
    if not count or (pc.sum(files.column("size")).as_py() or 0) < _LARGE_FILE * count:
        return False
    records = files.column("records")
    if records.null_count:
        # Parquet folders do not tell the rows of their files before these are read
        return True
    return bool(pc.sum(records).as_py() >= _MANY_BLOCKS * ROWS_PER_BLOCK * count)
