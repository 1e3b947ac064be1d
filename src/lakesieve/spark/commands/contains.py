"""Look up many keys on the executors: which keys a table version lacks, and files of the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lakesieve.index.given_keys import GivenKeys
from lakesieve.index.many_keys import keep_candidates, keep_files_of_keys
from lakesieve.spark.commands.key_lookup import FEW, FILES, LOCAL, candidates_of_keys, look_up
from lakesieve.spark.commands.key_rows import read_by_plan, rows_with_keys, same_keys
from lakesieve.spark.versions.cached_rows import cache_rows
from lakesieve.spark.versions.spark_versions import arrow_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from lakesieve.index import OpenedIndex
    from lakesieve.spark.commands.key_lookup import KeyFiles
    from lakesieve.spark.tables import SparkTable
    from lakesieve.tables import Column, TableVersion

_ABSENT = "absent"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class KeyPresenceRows:
    """Result of a look-up of many keys: which keys are absent, and which files may hold the others.

    Args:
        keys: The distinct keys, with ``absent``, which is true for a key that no row has, and
            ``files``, the data files that may hold the key. It is looked up at each evaluation. If
            it is confirmed, Spark caches it.
        uncovered: Live data files that are not indexed. Each may hold any key.
        confirmed: True if data files were read, with row-level deletes applied. Then a key that is
            not absent is in the table.
        files: Number of live data files of the version.
        version: The version, or ``None`` for a table without data.
        table: The table's name.
        index: The index's name.
        commit: The index's commit that was read.

    Examples:
        >>> index = ls.open_index("lake.shop.orders", "customer", spark=spark)
        >>> keys = spark.sql("SELECT 99999L AS customer")
        >>> index.contains(keys).keys.select("customer", "absent").collect()
        [Row(customer=99999, absent=True)]
    """

    keys: DataFrame
    uncovered: tuple[str, ...]
    confirmed: bool
    files: int
    version: str | None
    table: str
    index: str
    commit: int


def contained_rows(
    keys: DataFrame,
    index: OpenedIndex,
    *,
    table: SparkTable,
    version: TableVersion,
    columns: Sequence[Column],
    confirm: bool,
) -> KeyPresenceRows:
    """Look up a frame of keys."""
    from pyspark.sql import functions as F

    looked_up = look_up(
        keys, index, table, version, columns, taken=(_ABSENT, FILES), at_once=confirm
    )
    if confirm:
        answer = _confirmed(looked_up, index, columns, table=table, version=version)
    else:
        # any key may be in a file that the index does not cover
        is_absent = F.lit(False) if looked_up.uncovered else F.size(FILES) == 0
        keys_alone = looked_up.rows.drop(FILES).columns
        answer = looked_up.rows.select(*keys_alone, is_absent, FILES)
    return KeyPresenceRows(
        keys=answer.toDF(*looked_up.names, _ABSENT, FILES),
        uncovered=looked_up.uncovered,
        confirmed=confirm,
        files=looked_up.files,
        version=version.id,
        table=table.reader.name,
        index=index.definition.name,
        commit=looked_up.commit,
    )


def _confirmed(
    looked_up: KeyFiles,
    index: OpenedIndex,
    columns: Sequence[Column],
    *,
    table: SparkTable,
    version: TableVersion,
) -> DataFrame:
    """Return the keys, whether each is absent, and the files of the keys that rows have."""
    from pyspark.sql import functions as F

    cached = cache_rows(looked_up.rows)
    keys = cached.rows
    names = [f"key_{at}" for at in range(len(looked_up.columns))]
    key_columns = [".".join(column.path) for column in looked_up.columns]
    if cached.count <= LOCAL:
        local_keys = arrow_of(keys.select(*names)).rename_columns(key_columns)
        plan = keep_files_of_keys(index, GivenKeys(local_keys, columns, table.reader.name))
    else:
        many_keys = keys.select(*names).toDF(*key_columns)
        plan = keep_candidates(index, candidates_of_keys(many_keys, index, columns, table))
    possible = keys if looked_up.uncovered else keys.where(F.size(FILES) > 0)
    with read_by_plan(table, version, plan, looked_up.columns) as rows:
        present = rows_with_keys(rows, possible, are_few=cached.count <= FEW).distinct()
        # cached inside the context, because the plan applies only to reads planned now
        marked = cache_rows(present, shuffled=True).rows.withColumn("held", F.lit(True))
    joined = keys.join(marked, same_keys(keys, marked, names), "left")
    is_held = marked["held"].isNotNull()
    none = F.array().cast("array<string>")
    return joined.select(
        *(keys[name] for name in names),
        (~is_held).alias(_ABSENT),
        F.when(is_held, keys[FILES]).otherwise(none).alias(FILES),
    )
