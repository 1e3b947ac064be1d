"""Tables through a Spark session: one adapter for each table format, behind one contract."""

from __future__ import annotations

from lakesieve.spark.tables.contract import SparkTable
from lakesieve.spark.tables.registry import FORMATS, open_table

__all__ = ["FORMATS", "SparkTable", "open_table"]
