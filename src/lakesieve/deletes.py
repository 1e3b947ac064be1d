"""Equality deletes of Iceberg tables: what they cost, reading under them, converting them away."""

from __future__ import annotations

from lakesieve.spark.deletes.convert import convert
from lakesieve.spark.deletes.read import read
from lakesieve.spark.deletes.result import (
    Conversion,
    ConversionProgress,
    DeleteStatus,
    FieldSet,
)
from lakesieve.spark.deletes.status import status

__all__ = [
    "Conversion",
    "ConversionProgress",
    "DeleteStatus",
    "FieldSet",
    "convert",
    "read",
    "status",
]
