"""Bytes to objects and back: segments, file catalogues, commit documents, their versions."""

from __future__ import annotations

from lakesieve.format.catalogue import CATALOGUE_SCHEMA, decode_catalogue, encode_catalogue
from lakesieve.format.documents import FORMAT_VERSION, pack, unpack
from lakesieve.format.entries import (
    CatalogueEntry,
    Commit,
    IndexDefinition,
    KeyColumn,
    SegmentEntry,
)
from lakesieve.format.segment import (
    RowGroup,
    SegmentFooter,
    decode_footer,
    decode_row_group,
    encode_segment,
)

__all__ = [
    "CATALOGUE_SCHEMA",
    "FORMAT_VERSION",
    "CatalogueEntry",
    "Commit",
    "IndexDefinition",
    "KeyColumn",
    "RowGroup",
    "SegmentEntry",
    "SegmentFooter",
    "decode_catalogue",
    "decode_footer",
    "decode_row_group",
    "encode_catalogue",
    "encode_segment",
    "pack",
    "unpack",
]
