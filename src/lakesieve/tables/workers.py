"""Functions of ours in Spark's Python workers."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING
from zipimport import zipimporter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa
    from pyspark.sql import DataFrame

__all__ = ["in_workers"]


def in_workers(
    frame: DataFrame,
    stage: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]],
    schema: str,
) -> DataFrame:
    """Run a function over the Arrow batches of each partition.

    Args:
        frame: What it is given.
        stage: The function; it travels to the workers.
        schema: Of what it gives, as DDL.
    """
    return frame.mapInArrow(partial(_run, stage), schema)


def _run(
    stage: Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    forget_archives()
    yield from stage(batches)


def forget_archives() -> None:
    """Spare a worker's next task the reading of all archives.

    Spark puts its own zips and the jars of ``spark.jars.packages`` on the workers' path and empties
    the caches of imports before each task, upon which Python 3.10 and 3.11 read the directory of
    each archive again, once a package in it (python/cpython#103200): half a second for the jars of
    three formats. An import that is made later finds them as before.
    """
    for path, finder in list(sys.path_importer_cache.items()):
        if isinstance(finder, zipimporter):
            del sys.path_importer_cache[path]
