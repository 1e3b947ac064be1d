"""The keys of an index that is to be built: columns, or an expression over columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.index.definition import expression_of_keys, key_columns
from lakesieve.spark.tables.expressions import described_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.spark.tables import SparkTable
    from lakesieve.tables import Column, TableVersion


def index_keys(
    table: SparkTable, version: TableVersion, columns: str | Sequence[str]
) -> tuple[Column, ...]:
    """Find the key columns of an index by name, or describe the expression that is its key.

    Raises:
        NotFoundError: No such column.
        InvalidInputError: A text is neither a column nor an expression.
        UnsupportedError: A column or an expression cannot be indexed.
    """
    expression = expression_of_keys(table.reader, version, columns)
    if expression is None:
        return key_columns(table.reader, version, columns)
    known = table.reader.columns(version)
    return described_keys(table.rows(version), expression, known)
