"""Fields of Parquet files by the ids that table formats give them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pyarrow as pa

_FIELD_ID = b"PARQUET:field_id"


def names_by_id(fields: Iterable[pa.Field]) -> dict[int, str]:
    """The names of fields that have an id."""
    return {
        int(field.metadata[_FIELD_ID]): field.name
        for field in fields
        if field.metadata and _FIELD_ID in field.metadata
    }
