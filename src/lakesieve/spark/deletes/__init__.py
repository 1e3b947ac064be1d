"""Equality deletes: planning, status, reading, conversion. `lakesieve.deletes` is public."""
