"""Directories of Parquet files: listings and schemas as Spark has them, without an engine."""
