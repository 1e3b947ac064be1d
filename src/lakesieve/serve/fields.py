"""Fields and partition types over all schemas of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError

if TYPE_CHECKING:
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.types import NestedField, StructType

    from lakesieve.serve.requests import ScanRequest


def partition_type(spec: PartitionSpec, metadata: TableMetadata) -> StructType:
    """The type of a spec's partitions, by a schema that has its columns.

    Raises:
        NotFoundError: No schema has them.
    """
    for schema in (metadata.schema(), *reversed(metadata.schemas)):
        try:
            found: StructType = spec.partition_type(schema)
        except ValueError:
            continue
        return found
    raise NotFoundError(
        f"No schema of the table has the columns of its partition spec {spec.spec_id}.",
        kind=ErrorKind.COLUMN_NOT_FOUND,
        hint="Restore the table's metadata: no reader can read it.",
    )


def all_fields(metadata: TableMetadata) -> dict[int, NestedField]:
    """Fields of all schemas, the newest of each id, by ids."""
    found: dict[int, NestedField] = {}
    for schema in (*metadata.schemas, metadata.schema()):
        found |= {field_id: schema.find_field(field_id) for field_id in schema.field_ids}
    return found


def statistics_fields(request: ScanRequest, schema: Schema) -> frozenset[int]:
    """Ids of the columns whose statistics are wanted.

    Raises:
        InvalidInputError: One is none of them.
    """
    found = set()
    for name in request.stats_fields:
        try:
            found.add(schema.find_field(name, request.case_sensitive).field_id)
        except ValueError:
            raise InvalidInputError(
                f"There is no column {name!r}.",
                kind=ErrorKind.COLUMN_NOT_FOUND,
                hint="Name columns of the table in stats-fields.",
            ) from None
    return frozenset(found)
