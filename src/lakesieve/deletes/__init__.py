"""Equality deletes of Iceberg tables: what they cost, reading under them, converting them away."""

from __future__ import annotations

from lakesieve.deletes.convert import convert
from lakesieve.deletes.read import read
from lakesieve.deletes.result import Conversion, ConversionProgress, DeleteStatus, FieldSet
from lakesieve.deletes.status import status

__all__ = [
    "Conversion",
    "ConversionProgress",
    "DeleteStatus",
    "FieldSet",
    "convert",
    "read",
    "status",
]
