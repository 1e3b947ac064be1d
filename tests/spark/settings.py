"""Settings of every session of the tests: their tables are tiny, their queries many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyspark
from tests.depth import in_soak
from tests.interpreted import INTERPRETED
from tests.spark.own_jars import helper_class

from lakesieve.spark.versions.spark_versions import spark_version_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["BY_DEFAULT", "MANY_FILES", "NEWEST", "SETTINGS", "VARIANT", "with_quick_files"]

# 4.1 or newer
NEWEST = spark_version_of(pyspark.__version__).name not in {"3.5", "4.0"}

# of the contract suite, what another way to keep the rows of a format does not change
VARIANT = in_soak(
    "test_partitions_of_any_name",
    "test_a_point_query_opens_one_file",
    "test_new_files_are_read",
    "test_a_recreated_table_is_not_fooled",
    "test_a_handle_is_of_one_table",
    "test_indexes_live_with_their_table",
    "test_commands_change_the_same_rows",
    "test_a_string_is_one_column",
    "test_the_formats_own_skipping_is_told",
)

_STREAMING = "org.apache.spark.sql.execution.streaming"
_CHECKPOINTS = _STREAMING + (
    ".checkpointing.FileSystemBasedCheckpointFileManager"
    if NEWEST
    else ".FileSystemBasedCheckpointFileManager"
)

MANY_FILES = "spark.lakesieve.iceberg.manyFiles"
# of what is interpreted in these tests
BY_DEFAULT = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "true",
    "spark.sql.codegen.factoryMode": "FALLBACK",
}
SETTINGS = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.session.timeZone": "America/New_York",
    "spark.ui.enabled": "false",
    **INTERPRETED,
    # by default both rename by way of Hadoop's FileContext, which starts a process for each file
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
    "spark.sql.streaming.checkpointFileManagerClass": _CHECKPOINTS,
    # two sessions share two cores: what is slow is not what a test is about
    "spark.lakesieve.planning.seconds": "60",
}


def with_quick_files(session: SparkSession) -> SparkSession:
    """The session, in whose JVM local files are made without a process for each."""
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    helper_class(session, "QuickLocalFiles").install(hadoop)
    return session
