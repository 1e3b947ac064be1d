"""Indexes of both units on one table: data files and row blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lakesieve as ls

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession


def mixed_indexes(
    spark: SparkSession, table: str, columns: Sequence[Sequence[str]], *, rows: int = 5
) -> list[ls.SparkIndex]:
    """Create indexes on several columns: the first, third, fifth and so on has row blocks."""
    blocks = ls.create_indexes(table, columns[::2], spark=spark, rows_per_block=rows)
    files = ls.create_indexes(table, columns[1::2], spark=spark, rows_per_block=None)
    # in the order of the columns
    both = [*blocks, *files]
    both[::2], both[1::2] = blocks, files
    return both
