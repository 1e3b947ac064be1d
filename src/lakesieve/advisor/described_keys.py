"""Describe possible keys of indexes. Spark is asked once for each key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.sieve import KeysOfRow

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakesieve.tables import Column

# each is planned by Spark, and a log may have an expression with another constant in each query
_MOST = 200


class DescribedKeys:
    """Keys that are no columns, as key columns of an index, by their SQL text.

    Args:
        describe: Returns the key columns of an index on a text, or raises an error if it cannot be
            the key of an index. Without it, nothing can.
    """

    def __init__(self, describe: Callable[[str], tuple[Column, ...]] | None = None) -> None:
        self._describe = describe
        self._described: dict[str, tuple[Column, ...]] = {}

    def of(self, sql: str) -> tuple[Column, ...]:
        """Return the key columns of an index on a key; none if there can be no such index."""
        if self._describe is None:
            return ()
        if sql not in self._described:
            if len(self._described) >= _MOST:
                return ()
            try:
                columns = self._describe(sql)
            except Exception:  # noqa: BLE001 - an error of Spark, of many kinds
                columns = ()
            is_key = bool(columns) and columns[0].expression is not None
            self._described[sql] = columns if is_key else ()
        return self._described[sql]

    def expression(self, sql: str) -> Column | None:
        """Return an expression, of which each row has one value, as a column."""
        columns = self.of(sql)
        is_one = bool(columns) and columns[0].keys_of_row is KeysOfRow.ONE
        return columns[0] if is_one else None

    def expressions(self) -> Mapping[tuple[str, ...], Column]:
        """Return the described expressions as columns, by path."""
        columns = (self.expression(sql) for sql in self._described)
        return {column.path: column for column in columns if column is not None}
