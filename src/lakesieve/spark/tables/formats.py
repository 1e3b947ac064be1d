"""How a table format is described: the one place that says all that differs between formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

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
        named: Opens what the catalog has under an identifier: the session, the identifier, and the
            catalog's own object.
        runtime: A Java class that is there when the session can read such tables.
        packages: Maven coordinates of the runtime, by version of Spark; no entry where there is
            none, ``None`` for all where Spark reads the format by itself.
        settings: What a session needs to be set to.
        catalog_settings: What ``ls.local_session`` sets besides for a warehouse.
        catalog_class: Java class of what a catalog gives for such a table; where there is none, the
            table's ``provider`` names the format.
        copying: How to copy a table, where the adapter is no ``CopyableTable``: a text with
            ``{table}``, ``{copy}`` and ``{version}``.
        changing: The same where it is no ``ChangeableTable``.
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
        """Whether there is a runtime for a version of Spark, such as ``4.1``."""
        return self.packages is None or version in self.packages
