"""Exact secondary file-skipping indexes for the lakehouse tables you already have.

>>> import lakesieve as ls
>>> spark = ls.local_session()                                            # doctest: +SKIP
>>> ls.create_index("lake.tpch.lineitem", ["l_orderkey"], spark=spark)    # doctest: +SKIP
>>> ls.enable(spark)                                                      # doctest: +SKIP

Importing this package loads no engine: each name is resolved at its first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from lakesieve.printable import Renderer, render_with
from lakesieve.version import __version__ as __version__

if TYPE_CHECKING:
    from lakesieve import deletes, engines
    from lakesieve.advisor.advise import advise
    from lakesieve.advisor.result import ColumnAdvice, TableAdvice
    from lakesieve.api import find_files, last_pruning, list_indexes, open_index, repair_index
    from lakesieve.index.index import Index
    from lakesieve.index.key_results import Contained, KeyCheck
    from lakesieve.index.result import (
        BuildProgress,
        Cloned,
        CommitInfo,
        Compacted,
        FileMatches,
        IndexInfo,
        Refreshed,
        RowChange,
        TablePruning,
        TableStatus,
        TradeOffInfo,
        VerifiedRows,
    )
    from lakesieve.spark.api import (
        clone_table,
        disable,
        enable,
        refresh_indexes,
        trade_offs,
    )
    from lakesieve.spark.commands.by_key import delete, upsert
    from lakesieve.spark.commands.checks import check_references, check_unique
    from lakesieve.spark.commands.contains import ContainedRows
    from lakesieve.spark.commands.duplicates import Duplicates, duplicates
    from lakesieve.spark.commands.insert_new import insert_new
    from lakesieve.spark.commands.locate import KeyLocations
    from lakesieve.spark.commands.status import status
    from lakesieve.spark.create import create_index, create_indexes
    from lakesieve.spark.index import SparkIndex
    from lakesieve.spark.maintenance import maintain
    from lakesieve.spark.session.local import local_session
    from lakesieve.spark.session.shipping import ship

__all__ = [
    "BuildProgress",
    "Cloned",
    "ColumnAdvice",
    "CommitInfo",
    "Compacted",
    "Contained",
    "ContainedRows",
    "Duplicates",
    "FileMatches",
    "Index",
    "IndexInfo",
    "KeyCheck",
    "KeyLocations",
    "Refreshed",
    "RowChange",
    "SparkIndex",
    "TableAdvice",
    "TablePruning",
    "TableStatus",
    "TradeOffInfo",
    "VerifiedRows",
    "advise",
    "check_references",
    "check_unique",
    "clone_table",
    "create_index",
    "create_indexes",
    "delete",
    "deletes",
    "disable",
    "duplicates",
    "enable",
    "engines",
    "find_files",
    "insert_new",
    "last_pruning",
    "list_indexes",
    "local_session",
    "maintain",
    "open_index",
    "refresh_indexes",
    "repair_index",
    "ship",
    "status",
    "trade_offs",
    "upsert",
]

_RESULTS = (
    *(
        "BuildProgress",
        "Cloned",
        "CommitInfo",
        "Compacted",
        "FileMatches",
        "IndexInfo",
        "Refreshed",
    ),
    *("Refreshed", "RowChange", "TablePruning", "TableStatus", "TradeOffInfo", "VerifiedRows"),
)
_LOOK_UPS = ("find_files", "last_pruning", "list_indexes", "open_index", "repair_index")
_HOMES = {
    **dict.fromkeys(_LOOK_UPS, "lakesieve.api"),
    **dict.fromkeys(_RESULTS, "lakesieve.index.result"),
    **dict.fromkeys(("ColumnAdvice", "TableAdvice"), "lakesieve.advisor.result"),
    **dict.fromkeys(("Contained", "KeyCheck"), "lakesieve.index.key_results"),
    **dict.fromkeys(("check_references", "check_unique"), "lakesieve.spark.commands.checks"),
    **dict.fromkeys(("Duplicates", "duplicates"), "lakesieve.spark.commands.duplicates"),
    "advise": "lakesieve.advisor.advise",
    "ContainedRows": "lakesieve.spark.commands.contains",
    "Index": "lakesieve.index.index",
    "KeyLocations": "lakesieve.spark.commands.locate",
    "SparkIndex": "lakesieve.spark.index",
    "maintain": "lakesieve.spark.maintenance",
    "create_index": "lakesieve.spark.create",
    "create_indexes": "lakesieve.spark.create",
    "delete": "lakesieve.spark.commands.by_key",
    "insert_new": "lakesieve.spark.commands.insert_new",
    "local_session": "lakesieve.spark.session.local",
    "ship": "lakesieve.spark.session.shipping",
    "status": "lakesieve.spark.commands.status",
    "upsert": "lakesieve.spark.commands.by_key",
}


def _renderer() -> Renderer:
    # loads rich, which only results that are shown need
    from lakesieve.report import shown

    return shown


# the layers that make results stand below the one that renders them
render_with(_renderer)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in {"deletes", "engines"}:
        return importlib.import_module(f"lakesieve.{name}")
    return getattr(importlib.import_module(_HOMES.get(name, "lakesieve.spark.api")), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
