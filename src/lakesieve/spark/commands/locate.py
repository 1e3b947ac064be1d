"""Find the data files that may hold each of many keys, as pairs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.spark.commands.key_lookup import FILES, look_up

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from lakesieve.index import OpenedIndex
    from lakesieve.spark.tables import SparkTable
    from lakesieve.tables import Column, TableVersion

_FILE = "file"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyLocations:
    """Pairs of keys and the data files that may hold them.

    Args:
        pairs: The key columns and ``file``, with one row for each distinct pair. A key that no
            indexed file can hold is not in it. It is looked up at each evaluation, always in the
            same state of the index and the table.
        uncovered: Live data files that are not indexed. Each may hold any key.
        files: Number of live data files of the version.
        version: The table version, or ``None`` for a table without data.
        index: The index's name.
        commit: The index's commit that is read.

    Examples:
        >>> index = ls.open_index("lake.shop.orders", "customer", spark=spark)
        >>> index.locate(spark.sql("SELECT 4711L AS customer")).files
        10
    """

    pairs: DataFrame
    uncovered: tuple[str, ...]
    files: int
    version: str | None
    index: str
    commit: int


def locate_keys(
    keys: DataFrame,
    index: OpenedIndex,
    *,
    table: SparkTable,
    version: TableVersion,
    columns: Sequence[Column],
) -> KeyLocations:
    """Plan the look-up of a frame of keys."""
    from pyspark.sql import functions as F

    looked_up = look_up(keys, index, table, version, columns, taken=(_FILE,))
    key_names = (f"key_{at}" for at in range(len(looked_up.names)))
    pairs = looked_up.rows.select(*key_names, F.explode(FILES).alias(_FILE))
    return KeyLocations(
        pairs=pairs.toDF(*looked_up.names, _FILE),
        uncovered=looked_up.uncovered,
        files=looked_up.files,
        version=version.id,
        index=index.definition.name,
        commit=looked_up.commit,
    )
