"""Translate a session's settings for a location to storage options."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from lakesieve.spark.versions.java_classes import as_python
from lakesieve.storage import HADOOP_PREFIXES, TRUSTED_ROOTS, StorageOptions, trusted_folders

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def storage_options(
    spark: SparkSession,
    file_io: Callable[[], Mapping[str, str]] | None = None,
    *,
    hadoop: Callable[[], Any] | None = None,
) -> StorageOptions:
    """Return the settings with which Spark's Hadoop reaches each location.

    They are read when the first location is reached, and again if a store refuses them. ``hadoop``
    returns the ``Configuration`` of a table, and ``file_io`` the properties of its own file IO.
    Without these functions, the session's settings are used.
    """
    source = partial(_settings, spark, hadoop)
    return StorageOptions(
        conf=_LaterSettings(source),
        file_io=file_io() if file_io else {},
        vended=file_io,
        source=source,
    )


class _LaterSettings(Mapping[str, str]):
    """The settings of a session. The session is asked when the first setting is needed.

    A session that has run nothing takes a third of a second to tell its settings.
    """

    def __init__(self, read: Callable[[], Mapping[str, str]]) -> None:
        self._read = read

    @cached_property
    def _known(self) -> Mapping[str, str]:
        return self._read()

    def __getitem__(self, name: str) -> str:
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


def _settings(spark: SparkSession, hadoop: Callable[[], Any] | None) -> dict[str, str]:
    conf: Any = hadoop() if hadoop else spark._jsparkSession.sessionState().newHadoopConf()
    settings = {
        prefix + name: value
        for prefix in HADOOP_PREFIXES
        for name, value in as_python(spark, conf.getPropsWithPrefix(prefix)).items()
    }
    trusted = trusted_folders(str(spark.conf.get(f"spark.{TRUSTED_ROOTS}", "")))
    return settings | {TRUSTED_ROOTS: ",".join(trusted)}
