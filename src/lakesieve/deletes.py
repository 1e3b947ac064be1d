"""Equality deletes of Iceberg tables: status, reading in bounded memory, conversion."""

from __future__ import annotations

from lakesieve.spark.deletes import (
    Conversion,
    ConversionProgress,
    DeleteStatus,
    FieldSet,
    convert,
    read,
    status,
)

__all__ = [
    "Conversion",
    "ConversionProgress",
    "DeleteStatus",
    "FieldSet",
    "convert",
    "read",
    "status",
]
