"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer


def option(help: str, *names: str, **settings: Any) -> Any:  # noqa: A002 - as typer calls it
    """Return the settings of an option with a help text."""
    return typer.Option(*names, help=help, **settings)


def argument(metavar: str, help: str) -> Any:  # noqa: A002 - as typer calls it
    """Return the settings of an argument with a help text."""
    return typer.Argument(metavar=metavar, help=help, show_default=False)


TableName = Annotated[
    str,
    argument(
        "TABLE", "A table: `lake.db.name`, or `iceberg:`, `delta:`, `hudi:`, `parquet:` and a path."
    ),
]
IndexName = Annotated[str, argument("INDEX", "An index: by default named after its columns.")]
Predicate = Annotated[str, argument("PREDICATE", "A condition in Spark SQL: `id IN (5, 9)`.")]
Version = Annotated[
    str | None,
    option("Snapshot id, time, tag or branch of the table; by default the newest.", metavar="V"),
]
DryRun = Annotated[bool, option("Only show what would be done.", "--dry-run")]
On = Annotated[
    list[str], option("A key column; may be given several times.", "--on", metavar="COLUMN")
]
KeyFile = Annotated[str, option("Keys: Parquet, or CSV with a header line.", metavar="FILE")]
RowFile = Annotated[str, option("All columns: Parquet, or CSV with a header line.", metavar="FILE")]
Limit = Annotated[int, option("How many keys to show.", min=0, metavar="N")]
Page = Annotated[
    Path | None, option("Write the result as a page, too.", dir_okay=False, metavar="FILE")
]
