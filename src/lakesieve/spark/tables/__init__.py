"""Tables through a Spark session: one adapter per table format behind one small contract."""

from __future__ import annotations

from lakesieve.spark.tables.contract import IndexableTable
from lakesieve.spark.tables.registry import FORMATS, open_table

__all__ = ["FORMATS", "IndexableTable", "open_table"]
