"""The Java sources of the rule: one class a compilation unit, each may use those before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.spark.tables.iceberg.spec import ICEBERG
from lakesieve.spark.versions.janino import JavaSources

if TYPE_CHECKING:
    from lakesieve.spark.tables.formats import FormatSpec

__all__ = ["ADAPTERS", "DELETE_JOINS", "RULE", "extension_of", "scans_of"]

RULE = (
    "spark/versions/PrivateMembers",
    *(f"spark/tables/{name}" for name in ("FilePaths", "PathSet", "FileScans")),
    *(
        f"spark/rule/{name}"
        for name in (
            *("CatalogueFiles", "FileGroup", "KeepSet", "IdentitySet", "ScanAdapter"),
            *("FoundScan", "ScanJoins"),
            *("NoAnswerException", "CatalystJson", "Replacement", "KeyValues", "JoinedScan"),
            "PlanNodes",
            *("JoinSide", "JoinKeys", "FileOrdinals", "PlanningTime", "JobNotes", "ScanReport"),
            *("ScanSearch", "PythonPlanner", "PruningRule", "EarlyRules"),
        )
    ),
)
ADAPTERS = (*RULE, *(f"spark/rule/{name}" for name in ("FileRelations", "KeptFileIndex")))
"""What the scan adapters of all formats may use."""

DELETE_JOINS = (
    *ADAPTERS,
    *ICEBERG.scan_sources,
    "spark/deletes/DeleteMemory",
    "spark/rule/DeleteJoins",
)


def scans_of(spec: FormatSpec) -> JavaSources:
    """The sources of a format's scan adapter."""
    return JavaSources(*ADAPTERS, *spec.scan_sources)


def extension_of(spec: FormatSpec) -> JavaSources | None:
    """Those of what a format adds to the rule, if anything."""
    if not spec.rule_extension:
        return None
    return JavaSources(*ADAPTERS, *spec.scan_sources, spec.rule_extension)
