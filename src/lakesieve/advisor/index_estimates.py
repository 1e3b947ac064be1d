"""What indexes would cost and gain, by trials before they are built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc

from lakesieve.advisor.advise import WITH_STATISTICS
from lakesieve.advisor.estimate import build_seconds, index_bytes, refresh_seconds
from lakesieve.advisor.result import Estimate, IndexEstimate
from lakesieve.advisor.trial import TrialBuilder, rows_of, sampled, trial_folder
from lakesieve.defaults import ABSENT_HITS, SAMPLE_ROWS
from lakesieve.index import ShownList
from lakesieve.index.definition import column_names
from lakesieve.index.overview import key_layout
from lakesieve.spark.build.keys import index_keys
from lakesieve.spark.build.row_blocks import unit_of
from lakesieve.spark.build.source import indexable
from lakesieve.spark.tables import open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.advisor.trial import TrialSet
    from lakesieve.index import BuildProgress


def estimate_indexes(
    table: str,
    columns: Sequence[str | Sequence[str]],
    *,
    spark: SparkSession,
    budget: str | None = None,
    absent_hits: float = ABSENT_HITS,
    rows_per_block: int | str | None = "auto",
    sample: int = SAMPLE_ROWS,
    location: str | None = None,
    progress: Callable[[BuildProgress], None] | None = None,
) -> list[IndexEstimate]:
    """Estimate the cost and the gain of indexes by trial indexes, which are deleted afterwards.

    ``columns`` are the keys of each index, columns or one expression. ``rows_per_block`` is as for
    :func:`lakesieve.create_index`. ``sample`` is how many rows the trials read.

    Raises:
        NotFoundError: No such table or column.
        UnsupportedError: A key cannot be indexed, or Spark cannot read the table.
    """
    opened = open_table(spark, table)
    version = opened.reader.version()
    wanted = [index_keys(opened, version, each) for each in columns]
    files = indexable(opened.reader.live_files(version))
    if not files.num_rows:
        return ShownList(_empty(table, column_names(each), budget) for each in columns)
    with trial_folder(spark, opened, location) as folder:
        unit = unit_of(opened, files, rows_per_block)
        trials = TrialBuilder(spark, opened, folder, unit, progress)
        some = trials.counted(sampled(files, sample), wanted[0])
        tried = trials.try_columns(
            wanted,
            some,
            is_whole=some.num_rows >= files.num_rows,
            budget=budget,
            absent_hits=absent_hits,
        )
        has_statistics = opened.reader.format in WITH_STATISTICS
        return ShownList(
            IndexEstimate(
                table=opened.reader.name,
                columns=one.columns,
                budget=one.trial.index.definition.budget,
                files=files.num_rows,
                rows=rows_of(files, some),
                sampled_files=some.num_rows,
                sampled_rows=int(pc.sum(some.column("records")).as_py() or 0),
                rows_per_block=unit.rows or None,
                **_costs(one, rows_of(files, some), files.num_rows / some.num_rows),
                **_gain(one, some.num_rows, files.num_rows, has_statistics=has_statistics),
            )
            for one in tried
        )


def _costs(tried: TrialSet, rows: int, scale: float) -> dict[str, Any]:
    return {
        "index_bytes": index_bytes(tried.trial, tried.half, rows, scale),
        "build_seconds": build_seconds(tried.trial, tried.single, rows, scale),
        "refresh_seconds": refresh_seconds(tried.single),
    }


def _gain(tried: TrialSet, sampled: int, files: int, *, has_statistics: bool) -> dict[str, Any]:
    """Return the data files that a query of one key reads without and with the index."""
    layout = key_layout(tried.trial.index, np.ones(len(tried.trial.index.paths()), bool))
    if layout is None:
        return {"files_now": 0.0, "files_then": 0.0}

    def of_table(found: float) -> float:
        # a sampled key is in one sampled file for sure; its other files were drawn like any others
        others = (found - 1) * (files - 1) / (sampled - 1) if sampled > 1 else 0.0
        return min(max(1 + others, 0.0), float(files))

    is_known = has_statistics and not tried.trial.index.definition.expressions
    now = of_table(layout.kept_by_bounds) if is_known else float(files)
    return {"files_now": now, "files_then": of_table(layout.kept)}


def _empty(table: str, columns: tuple[str, ...], budget: str | None) -> IndexEstimate:
    nothing = Estimate.exact(0.0)
    return IndexEstimate(
        table=table,
        columns=columns,
        budget=budget or "",
        files=0,
        rows=0,
        sampled_files=0,
        sampled_rows=0,
        index_bytes=nothing,
        build_seconds=nothing,
        refresh_seconds=nothing,
        files_now=0.0,
        files_then=0.0,
    )
