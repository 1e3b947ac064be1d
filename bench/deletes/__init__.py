"""Equality deletes: Iceberg's own reader, bounded reading, conversion with and without index."""
