"""Engines without Spark: point queries with their own scans and through the index."""
