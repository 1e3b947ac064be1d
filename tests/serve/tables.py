"""A table in a catalog of its own, for a server."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from tests.engines.tables import COLUMNS, index_of, rows

from lakesieve.serve.catalogs import ServedTable
from lakesieve.serve.planning import PlanningContext, TablePlanner
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

    from pyiceberg.table import StaticTable, Table

__all__ = ["ROWS", "catalog_of", "indexed", "planner_of"]

ROWS = 5
"""Rows of a file."""


def catalog_of(folder: Path, name: str, files: int) -> SqlCatalog:
    """Make a catalog with one table.

    Args:
        folder: Where all of it goes.
        name: The table's name.
        files: How many files it has.
    """
    made = SqlCatalog("shop", uri=f"sqlite:///{folder}/c.db", warehouse=str(folder))
    made.create_namespace(tuple(name.split(".")[:-1]))
    table = made.create_table(name, schema=pa.schema(list(COLUMNS.items())))
    drawn = random.Random(name)
    for _ in range(files):
        table.append(rows(drawn, ROWS))
    return made


def indexed(table: Table) -> Table:
    """Index what a table has now, by all columns but one.

    Args:
        table: The table.
    """
    for column in COLUMNS:
        if column != "flag":
            index_of(open_table(table), column, covers=lambda _: True)
    return table


def planner_of(table: Table | StaticTable, context: PlanningContext | None = None) -> TablePlanner:
    """Plan scans of a table that PyIceberg has loaded, without a server."""
    served = ServedTable(path="", document={}, metadata=table.metadata, io=table.io)
    return TablePlanner("db.t", served, context or PlanningContext())
