"""Directories of Parquet files: listed and read as Spark does, without an engine."""
