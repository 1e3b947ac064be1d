"""Label lakesieve's own jobs in Spark's UI, and keep them out of the pruning report."""

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
    """Describe the Spark jobs that this thread starts while the context is open.

    ``last_pruning`` does not count them as queries of the user. Afterwards, the previous
    description returns. Within another such context, the outer description stays.
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
