"""Table formats without an engine: the contract of readers, schemas, identities, paths."""

from __future__ import annotations

from lakesieve.tables.contract import Column, TableReader, TableVersion

__all__ = ["Column", "TableReader", "TableVersion"]
