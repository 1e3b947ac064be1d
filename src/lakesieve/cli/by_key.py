"""The commands that change rows by key, and the one that shows what such changes leave behind."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer

import lakesieve as ls
from lakesieve.cli.command import ON_TABLES, Run, command
from lakesieve.cli.commands import DryRun, TableName, Version
from lakesieve.cli.keys import On
from lakesieve.errors import ErrorKind, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.index.result import RowChange, TableStatus

Txn = Annotated[
    str | None,
    typer.Option(
        metavar="APP:N",
        help="A transaction: not done again where the table has one of this name and number.",
    ),
]
NoRefresh = Annotated[
    bool, typer.Option("--no-refresh", help="Leave the indexes as they are after the commit.")
]


@command("upsert", ON_TABLES)
def upsert(
    run: Run,
    table: TableName,
    *,
    rows: Annotated[
        str, typer.Option(metavar="FILE", help="All columns: Parquet, or CSV with a header line.")
    ],
    on: On,
    txn: Txn = None,
    no_refresh: NoRefresh = False,
    dry_run: DryRun = False,
) -> RowChange:
    """Update the rows with the keys of a file, and insert those that are not there."""
    change = partial(ls.upsert, rows, table, on=on, location=run.location, dry_run=dry_run)
    return _changed(run, change, txn, no_refresh=no_refresh)


@command("delete", ON_TABLES)
def delete(
    run: Run,
    table: TableName,
    *,
    keys: Annotated[
        str, typer.Option(metavar="FILE", help="Keys: Parquet, or CSV with a header line.")
    ],
    on: On,
    txn: Txn = None,
    no_refresh: NoRefresh = False,
    dry_run: DryRun = False,
) -> RowChange:
    """Delete the rows with the keys of a file, reading only the data files that hold them."""
    change = partial(ls.delete, keys, table, on=on, location=run.location, dry_run=dry_run)
    return _changed(run, change, txn, no_refresh=no_refresh)


@command("insert-new", ON_TABLES)
def insert_new(
    run: Run,
    table: TableName,
    *,
    rows: Annotated[
        str, typer.Option(metavar="FILE", help="All columns: Parquet, or CSV with a header line.")
    ],
    on: On,
    duplicates: Annotated[
        str,
        typer.Option(
            metavar="RULE",
            help="For keys that the file has more than once: `error`, or keep the `first` or the "
            "`last` row.",
        ),
    ] = "error",
    txn: Txn = None,
    no_refresh: NoRefresh = False,
    dry_run: DryRun = False,
) -> RowChange:
    """Append the rows of a file whose keys are not in the table."""
    change = partial(
        ls.insert_new,
        rows,
        table,
        on=on,
        duplicates=duplicates,
        location=run.location,
        dry_run=dry_run,
    )
    return _changed(run, change, txn, no_refresh=no_refresh)


@command("status", ON_TABLES)
def status(
    run: Run,
    table: TableName,
    version: Version = None,
    threshold: Annotated[
        float,
        typer.Option(
            min=0, max=1, help="Share of marked data files above which to suggest upkeep."
        ),
    ] = 0.2,
) -> TableStatus:
    """Count the data files that carry row-level deletes, and show what removes them."""
    return ls.status(table, spark=run.session(), version=version, threshold=threshold)


def _transaction(given: str | None) -> tuple[str, int] | None:
    """Split ``APP:N``."""
    if given is None:
        return None
    app, _, number = given.rpartition(":")
    if not app or not number.isascii() or not number.isdigit():
        raise InvalidInputError(
            f"The transaction {given!r} is not APP:N.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give a name and a number: --txn erasures:17.",
        )
    return app, int(number)


def _changed(
    run: Run, change: Callable[..., RowChange], txn: str | None, *, no_refresh: bool
) -> RowChange:
    transaction = _transaction(txn)
    refresh = None if no_refresh else "after-write"
    done = change(spark=run.session(), refresh=refresh, txn=transaction)
    for reason in done.reasons:
        run.output.error(f"The commit is made, but an index was not refreshed: {reason}")
    return done


BY_KEY = (upsert, delete, insert_new, status)
