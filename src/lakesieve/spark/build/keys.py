"""The keys of an index that is to be built: columns, and expressions over columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.index.definition import key_columns
from lakesieve.spark.tables.expressions import described_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.spark.tables import SparkTable
    from lakesieve.tables import Column, TableVersion


def index_keys(
    table: SparkTable, version: TableVersion, columns: str | Sequence[str]
) -> tuple[Column, ...]:
    """Find the key columns of an index by name, and describe the expressions among its keys.

    Raises:
        NotFoundError: No such column.
        InvalidInputError: A text is neither a column nor an expression.
        UnsupportedError: A column or an expression cannot be indexed.
    """

    def describe(expression: str) -> tuple[Column, ...]:
        known = table.reader.columns(version)
        return described_keys(table.rows(version), expression, known)

    return key_columns(table.reader, version, columns, describe=describe)
