"""Settings of Spark's Parquet reader and writer for tests of row blocks."""

from __future__ import annotations

__all__ = ["SMALL_PAGES", "VECTORIZED"]

SMALL_PAGES = {"parquet.page.row.count.limit": "50", "parquet.block.size": "20000"}
"""Pages of 50 rows, in small row groups."""

VECTORIZED = "spark.sql.parquet.enableVectorizedReader"
"""Whether Spark reads batches of rows. If not, it reads row by row."""
