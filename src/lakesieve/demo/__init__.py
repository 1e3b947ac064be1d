"""What `lakesieve demo` runs: TPC-H on a real Iceberg table, skipping off and on."""

from __future__ import annotations

from lakesieve.demo.measurements import DemoIndex, DemoQuery, DemoResult

__all__ = ["DemoIndex", "DemoQuery", "DemoResult"]
