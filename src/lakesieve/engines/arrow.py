"""Tables as Arrow datasets that open only candidate files: for DuckDB, pandas and Acero.

What an engine pushes down is applied exactly, to every row.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from lakesieve.defaults import WAREHOUSE
from lakesieve.engines.engine_scans import last_pruning
from lakesieve.engines.table_rows import rows_of
from lakesieve.errors import not_installed
from lakesieve.predicate.arrow import from_arrow
from lakesieve.predicate.expression import Constant
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from lakesieve.engines.table_rows import TableRows
    from lakesieve.predicate import Expr
    from lakesieve.tables import TableReader

__all__ = ["dataset", "last_pruning"]


def dataset(
    table: str | Any,
    version: str | int | None = None,
    *,
    catalog: str | None = None,
    warehouse: str = WAREHOUSE,
    locations: Iterable[str] = (),
) -> ds.Dataset:
    """Open a version of a table as a PyArrow dataset.

    The dataset stays at this version.

    Args:
        table: As for :func:`lakesieve.open_index` without a session.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        catalog: Name of a catalog in PyIceberg's configuration.
        warehouse: Folder of the embedded catalog.
        locations: Further roots to search for indexes.

    Raises:
        NotFoundError: No such table or version.
        UnsupportedError: The rows of the table cannot be read without Spark.
        SetupError: A package is missing.

    Examples:
        >>> orders = ls.engines.arrow.dataset("lake.shop.orders")
        >>> orders.to_table(filter=pc.field("customer") == 4711).num_rows
        1
    """
    opened = open_table(table, catalog=catalog, warehouse=warehouse)
    return to_arrow_dataset(opened, version, locations)


def to_arrow_dataset(
    table: TableReader, version: str | int | None = None, locations: Iterable[str] = ()
) -> ds.Dataset:
    """Make a dataset of a table that is open; see :func:`dataset`."""
    if find_spec("substrait") is None:
        need = "The package substrait, which is needed to read filters, is not installed."
        raise not_installed(need, "duckdb")
    return _TableDataset(rows_of(table, version, locations))


class _TableDataset(ds.Dataset):  # type: ignore[misc]
    """One version of a table. What pyarrow itself keeps of a dataset is not there."""

    def __init__(self, rows: TableRows) -> None:
        self._rows = rows

    def __reduce__(self) -> Any:
        raise TypeError("A dataset of lakesieve stays in its process; open it there instead.")

    @property
    def schema(self) -> pa.Schema:
        """The columns of the version."""
        return self._rows.schema

    def scanner(
        self,
        columns: Sequence[str] | dict[str, Any] | None = None,
        filter: Any = None,  # noqa: A002 - pyarrow calls it so
        batch_size: int = 131_072,
        **options: Any,
    ) -> ds.Scanner:
        """Scan the files that can hold a row for which the filter is true."""
        kept = {name: options[name] for name in ("use_threads", "memory_pool") if name in options}
        condition = _expression(filter)
        schema, batches = self._batches(columns, condition)
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        return ds.Scanner.from_batches(
            reader, columns=columns, filter=condition, batch_size=batch_size, **kept
        )

    def get_fragments(self, filter: Any = None) -> Iterator[ds.Fragment]:  # noqa: A002
        """Yield the rows that can match, as fragments in memory."""
        _, batches = self._batches(None, _expression(filter))
        for batch in batches:
            yield from ds.InMemoryDataset(batch).get_fragments()

    def _batches(
        self, columns: Sequence[str] | dict[str, Any] | None, condition: Any
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        expression: Expr = Constant(value=True)
        used: frozenset[str] | None = frozenset()
        if condition is not None:
            expression, used = from_arrow(condition, self.schema)
        # expressions may use any column
        if columns is None or isinstance(columns, dict) or used is None:
            return self._rows.batches(expression)
        return self._rows.batches(expression, used.union(columns))


def _expression(condition: Any) -> Any:
    """Return a filter as an expression. DataFusion gives a scalar if the filter uses no column."""
    return pc.scalar(condition) if isinstance(condition, pa.Scalar) else condition
