"""The columns of a schema of PyIceberg's, and filters over them as predicates."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from lakesieve.predicate.pyiceberg import from_pyiceberg
from lakesieve.tables.iceberg.schema import (
    NAME_MAPPING,
    columns_of_fields,
    columns_of_schema,
    schema_document,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata

    from lakesieve.predicate import Expr
    from lakesieve.tables import Column


def columns_of(metadata: TableMetadata, schema: Schema) -> Mapping[tuple[str, ...], Column]:
    """The columns of a schema of a table, by path."""
    from pyiceberg.transforms import IdentityTransform

    mapping = metadata.properties.get(NAME_MAPPING)
    sources = {
        field.source_id
        for spec in metadata.partition_specs
        for field in spec.fields
        if isinstance(field.transform, IdentityTransform)
    }
    return _parsed(schema.model_dump_json(), mapping, tuple(sorted(sources)))


def partition_specs(metadata: TableMetadata) -> dict[int, list[dict[str, Any]]]:
    """Return the fields of each partition spec as the specification writes them to JSON."""
    return {
        spec.spec_id: json.loads(spec.model_dump_json())["fields"]
        for spec in metadata.partition_specs
    }


def columns_in_manifests(schema: Schema) -> Mapping[tuple[str, ...], Column]:
    """Return the columns of a schema by the ids that they have in manifests."""
    return _with_ids(schema.model_dump_json())


@lru_cache(maxsize=64)
def _with_ids(schema: str) -> Mapping[tuple[str, ...], Column]:
    return columns_of_fields(json.loads(schema)["fields"])


@lru_cache(maxsize=64)
def _parsed(
    schema: str, mapping: str | None, sources: tuple[int, ...]
) -> Mapping[tuple[str, ...], Column]:
    return columns_of_schema(schema_document(json.loads(schema), mapping, sources))


def predicate_of(
    expression: BooleanExpression,
    metadata: TableMetadata,
    schema: Schema,
    *,
    case_sensitive: bool = True,
) -> Expr:
    """A filter as a predicate over the columns of :func:`columns_of`.

    Raises:
        ValueError: PyIceberg's: it names no column.
        TypeError: PyIceberg's: a literal does not fit its column.
    """
    from pyiceberg.expressions.visitors import bind

    columns = columns_of(metadata, schema)
    paths: dict[Any, tuple[str, ...]] = {column.field_id: path for path, column in columns.items()}
    # files without field ids are read by names: their columns have other identities
    if metadata.properties.get(NAME_MAPPING) is not None:
        paths = {schema.find_field(".".join(path)).field_id: path for path in columns}
    return from_pyiceberg(bind(schema, expression, case_sensitive), paths)
