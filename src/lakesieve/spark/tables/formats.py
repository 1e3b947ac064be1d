"""Describe table formats: the one place with everything that differs between them on Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakesieve.errors import ErrorKind, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql import SparkSession

    from lakesieve.spark.tables.contract import SparkTable


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatSpec:
    """One table format on Spark.

    Args:
        name: As in ``FORMAT:PATH``, in messages and in stored indexes.
        at: Opens the table in a folder.
        named: Opens a table of a catalog. Its arguments are the session, the identifier, and the
            catalog's own object.
        runtime: A Java class that exists if the session can read such tables.
        packages: Maven coordinates of the runtime by version of Spark, without an entry if there is
            no runtime. ``None`` if every Spark reads the format by itself.
        settings: Settings that a session needs.
        catalog_settings: Further settings of ``ls.local_session`` for a warehouse.
        catalog_class: Java class of such a table in a catalog. Without it, the table's ``provider``
            names the format.
        copying: How to copy a table, if the adapter is not a ``CopyableTable``: a text with
            ``{table}``, ``{copy}`` and ``{version}``.
        changing: How to change rows, if the adapter is not a ``ChangeableTable``.
    """

    name: str
    at: Callable[[SparkSession, str], SparkTable]
    named: Callable[[SparkSession, str, Any], SparkTable]
    runtime: str
    packages: Mapping[str, str] | None
    settings: Mapping[str, str] = field(default_factory=dict)
    catalog_settings: Callable[[str], Mapping[str, str]] = lambda _warehouse: {}
    catalog_class: str = ""
    copying: str = ""
    changing: str = ""

    def runs_on(self, version: str) -> bool:
        """Return whether a runtime exists for a version of Spark, such as ``4.1``."""
        return self.packages is None or version in self.packages


def unchangeable(table: str, spec: FormatSpec) -> UnsupportedError:
    """Return the error for a table of a format whose rows cannot be changed."""
    return UnsupportedError(
        f"{table} is a directory of {spec.name} files, whose rows cannot be changed by commits.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint=spec.changing,
    )
