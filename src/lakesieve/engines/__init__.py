"""Engines without Spark: their scans open only the files that can hold a match.

Each module needs its engine's own package, and is loaded at its first use:

>>> import lakesieve as ls
>>> orders = ls.engines.polars.scan("lake.shop.orders")

A table has the same scans as methods: ``orders.scan_polars()``, ``orders.to_arrow_dataset()`` and
``orders.to_duckdb(con)``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lakesieve.engines import arrow, duckdb, polars, pyiceberg

__all__ = ["arrow", "duckdb", "polars", "pyiceberg"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
