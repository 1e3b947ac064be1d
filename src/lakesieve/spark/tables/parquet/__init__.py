"""Directories of Parquet files through a Spark session."""
