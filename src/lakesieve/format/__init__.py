"""Encode and decode what is stored: segments, file catalogues, commit documents, versions."""

from __future__ import annotations

from lakesieve.format.catalogue import (
    CATALOGUE_SCHEMA,
    Origin,
    catalogue_id,
    decode_catalogue,
    encode_catalogue,
    read_origin,
)
from lakesieve.format.commits import Checkpoint, Commit
from lakesieve.format.documents import FORMAT_VERSION, MAX_DOCUMENT_BYTES, pack, unpack
from lakesieve.format.entries import CatalogueEntry, SegmentEntry
from lakesieve.format.index_definition import (
    ENTRIES_KIND,
    WORDS_KIND,
    IndexDefinition,
    IndexKey,
    KeyColumn,
    KeyExpression,
    SourceColumn,
    tree_identity,
)
from lakesieve.format.segment import (
    RowGroup,
    SegmentFooter,
    decode_footer,
    decode_row_group,
    encode_segment,
)
from lakesieve.format.units import DATA_FILE, Unit

__all__ = [
    "CATALOGUE_SCHEMA",
    "DATA_FILE",
    "ENTRIES_KIND",
    "FORMAT_VERSION",
    "MAX_DOCUMENT_BYTES",
    "WORDS_KIND",
    "CatalogueEntry",
    "Checkpoint",
    "Commit",
    "IndexDefinition",
    "IndexKey",
    "KeyColumn",
    "KeyExpression",
    "Origin",
    "RowGroup",
    "SegmentEntry",
    "SegmentFooter",
    "SourceColumn",
    "Unit",
    "catalogue_id",
    "decode_catalogue",
    "decode_footer",
    "decode_row_group",
    "encode_catalogue",
    "encode_segment",
    "pack",
    "read_origin",
    "tree_identity",
    "unpack",
]
