"""The equality deletes of a table, as the user holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import lakesieve as ls
from lakesieve.api.options import spell_out_options

if TYPE_CHECKING:
    from typing import TypeAlias, Unpack

    from pyspark.sql import DataFrame

    from lakesieve.api.options import ConvertOptions
    from lakesieve.api.table_methods import Table

    Version: TypeAlias = str | int | None


class TableDeletes:
    """The equality deletes of one Iceberg table; its methods need Spark.

    Args:
        table: The table.

    Examples:
        >>> orders.deletes
        <TableDeletes of lake.shop.orders>
    """

    def __init__(self, table: Table) -> None:
        self._table = table

    def __repr__(self) -> str:
        return f"<TableDeletes of {self._table.name}>"

    def status(
        self, *, version: Version = None, count_keys: bool = True
    ) -> ls.deletes.DeleteStatus:
        """Tell what the deletes cost readers; see :func:`lakesieve.deletes.status`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> orders.deletes.status().equality_files
            0
        """
        table = self._table
        return ls.deletes.status(
            table.name, spark=table._spark, version=version, count_keys=count_keys
        )

    def read(self, *, version: Version = None) -> DataFrame:
        """Read the table in bounded memory; see :func:`lakesieve.deletes.read`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> orders.deletes.read().count()
            10000
        """
        return ls.deletes.read(self._table.name, spark=self._table._spark, version=version)

    def convert(self, **options: Unpack[ConvertOptions]) -> ls.deletes.Conversion:
        """Convert them to position deletes or vectors; see :func:`lakesieve.deletes.convert`.

        Examples:
            >>> orders = ls.table("lake.shop.orders", spark=spark)
            >>> orders.deletes.convert(dry_run=True).removed_files
            0
        """
        return ls.deletes.convert(self._table.name, **self._table._by_spark, **options)


spell_out_options(TableDeletes)
