"""Arguments and options that several commands share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from lakesieve.cli.completion import index_names, names_of_tables
from lakesieve.errors import ErrorKind, InvalidInputError


def option(help: str, *names: str, **settings: Any) -> Any:  # noqa: A002 - as typer calls it
    """Return the settings of an option with a help text."""
    return typer.Option(*names, help=help, **settings)


def argument(metavar: str, help: str, **settings: Any) -> Any:  # noqa: A002 - as typer calls it
    """Return the settings of an argument with a help text."""
    return typer.Argument(metavar=metavar, help=help, show_default=False, **settings)


def table_argument(metavar: str, help: str) -> Any:  # noqa: A002 - as typer calls it
    """Return the settings of an argument that names a table, which the shell completes."""
    return argument(metavar, help, autocompletion=names_of_tables)


def index_argument(metavar: str, help: str) -> Any:  # noqa: A002 - as typer calls it
    """Return the settings of an argument that names an index, which the shell completes."""
    return argument(metavar, help, autocompletion=index_names)


TableName = Annotated[
    str,
    table_argument(
        "TABLE",
        "Name of a table: `lake.db.name`, or `iceberg:PATH`, `delta:PATH`, `hudi:PATH`, "
        "`parquet:PATH`.",
    ),
]
IndexName = Annotated[
    str, index_argument("INDEX", "Name of an index: by default its columns joined by `_`.")
]
Predicate = Annotated[str, argument("PREDICATE", "A condition in Spark SQL, such as `id = 5`.")]
Version = Annotated[
    str | None,
    option("Read this snapshot id, time, tag or branch, not the newest version.", metavar="V"),
]
DryRun = Annotated[bool, option("Only show what the command would do.", "--dry-run")]
On = Annotated[
    list[str], option("A key column; repeat the option for more.", "--on", metavar="COLUMN")
]
Watch = Annotated[
    str | None,
    option("Repeat after this interval, such as 30s, 5m or 1h, until stopped.", metavar="INTERVAL"),
]
KeyFile = Annotated[
    str,
    option(
        "Read the keys from this Parquet or CSV file with a header, or `-` for standard input.",
        metavar="FILE",
    ),
]
RowFile = Annotated[
    str,
    option(
        "Read whole rows from this Parquet or CSV file with a header, or `-` for standard input.",
        metavar="FILE",
    ),
]
Limit = Annotated[int, option("Show at most this many keys.", min=0, metavar="N")]
Page = Annotated[
    Path | None, option("Also write the result as an HTML page.", dir_okay=False, metavar="FILE")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeOptions:
    """The options that all commands share which change rows by key."""

    on: On
    txn: Annotated[
        str | None,
        option(
            "Name and number of a transaction, which the table takes only once.", metavar="APP:N"
        ),
    ] = None
    no_refresh: Annotated[
        bool, option("Do not refresh the table's indexes after the commit.", "--no-refresh")
    ] = False
    dry_run: DryRun = False

    def arguments(self) -> dict[str, Any]:
        """Return the arguments that the functions of the package take for these options."""
        return {
            "on": self.on,
            "txn": self._transaction(),
            "refresh": None if self.no_refresh else "after-write",
            "dry_run": self.dry_run,
        }

    def _transaction(self) -> tuple[str, int] | None:
        """Split ``APP:N``."""
        if self.txn is None:
            return None
        app, _, number = self.txn.rpartition(":")
        if not app or not number.isascii() or not number.isdigit():
            raise InvalidInputError(
                f"The transaction {self.txn!r} is not APP:N.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Give a name and a number: --txn erasures:17.",
            )
        return app, int(number)
