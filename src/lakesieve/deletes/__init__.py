"""Equality deletes of Iceberg tables: what they cost, reading under them, converting them away."""

from __future__ import annotations

from lakesieve.deletes.read import read

__all__ = ["read"]
