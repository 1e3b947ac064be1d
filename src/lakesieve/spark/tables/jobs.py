"""What Spark's UI, and the report of what was pruned, know of lakesieve's own jobs."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from lakesieve.spark.tables.failures import explained

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

_OWN = "lakesieve.own"
_DESCRIPTION = "spark.job.description"
_GROUP = "spark.jobGroup.id"


@contextmanager
def own_jobs(spark: SparkSession, description: str) -> Iterator[None]:
    """Describe the Spark jobs that this thread starts for a while.

    They count as no queries of the user in ``last_pruning``. What was set before comes back
    afterwards; within another such stretch its description stays.
    """
    context: Any = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in (_OWN, _DESCRIPTION, _GROUP)}
    if before[_OWN] is None:
        context.setLocalProperty(_DESCRIPTION, description)
    context.setLocalProperty(_OWN, "true")
    try:
        yield
    except Exception as error:
        clear = explained(error)
        if clear is None:
            raise
        raise clear from error
    finally:
        for name, value in before.items():
            context.setLocalProperty(name, value)
