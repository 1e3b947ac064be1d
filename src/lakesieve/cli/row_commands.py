"""Commands on rows and keys: changes by key, questions about keys, and checks of them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import lakesieve as ls
from lakesieve.cli.command import Run, command
from lakesieve.cli.options import (
    DryRun,
    IndexName,
    KeyFile,
    Limit,
    On,
    RowFile,
    TableName,
    Version,
    option,
)
from lakesieve.defaults import MARKED_FILES, SHOWN_KEYS
from lakesieve.errors import ErrorKind, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.index.key_results import KeyCheck
    from lakesieve.index.result import RowChange, TableStatus
    from lakesieve.report import AbsentKeys, DuplicateKeys

Txn = Annotated[
    str | None,
    option(
        "A transaction: not done again where the table has one of this name and number.",
        metavar="APP:N",
    ),
]
NoRefresh = Annotated[
    bool, option("Leave the indexes as they are after the commit.", "--no-refresh")
]


@command("upsert")
def upsert(
    run: Run,
    table: TableName,
    *,
    rows: RowFile,
    on: On,
    txn: Txn = None,
    no_refresh: NoRefresh = False,
    dry_run: DryRun = False,
) -> RowChange:
    """Update the rows with the keys of a file, and insert those that are not there."""
    change = partial(ls.upsert, rows, table, on=on, dry_run=dry_run)
    return _changed(run, change, txn, no_refresh=no_refresh)


@command("delete")
def delete(
    run: Run,
    table: TableName,
    *,
    keys: KeyFile,
    on: On,
    txn: Txn = None,
    no_refresh: NoRefresh = False,
    dry_run: DryRun = False,
) -> RowChange:
    """Delete the rows with the keys of a file, reading only the data files that hold them."""
    change = partial(ls.delete, keys, table, on=on, dry_run=dry_run)
    return _changed(run, change, txn, no_refresh=no_refresh)


@command("insert-new")
def insert_new(
    run: Run,
    table: TableName,
    *,
    rows: RowFile,
    on: On,
    duplicates: Annotated[
        str,
        option(
            "For keys that the file has more than once: `error`, or keep the `first` or the "
            "`last` row.",
            metavar="RULE",
        ),
    ] = "error",
    txn: Txn = None,
    no_refresh: NoRefresh = False,
    dry_run: DryRun = False,
) -> RowChange:
    """Append the rows of a file whose keys are not in the table."""
    change = partial(ls.insert_new, rows, table, on=on, duplicates=duplicates, dry_run=dry_run)
    return _changed(run, change, txn, no_refresh=no_refresh)


@command("status")
def status(
    run: Run,
    table: TableName,
    version: Version = None,
    threshold: Annotated[
        float,
        option("Share of marked data files above which to suggest upkeep.", min=0, max=1),
    ] = MARKED_FILES,
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
    done = change(spark=run.session(), location=run.location, refresh=refresh, txn=transaction)
    for reason in done.reasons:
        run.output.error(f"The commit is made, but an index was not refreshed: {reason}")
    return done


@command("contains")
def contains(
    run: Run,
    table: TableName,
    index: IndexName,
    *,
    keys: KeyFile,
    confirm: Annotated[bool, option("Read the files that can hold the keys.", "--confirm")] = False,
    limit: Limit = SHOWN_KEYS,
    version: Version = None,
) -> AbsentKeys:
    """Tell how many of the keys of a file no row has, from the index alone or confirmed by rows."""
    from lakesieve.report import AbsentKeys

    opened: ls.Index = ls.open_index(table, index, **run.reach(table))
    found = opened.contains(keys, version, confirm=confirm)
    absent = found.keys.filter(found.absent)
    first = absent.slice(0, limit).to_pylist()
    return AbsentKeys(
        table=found.table,
        index=found.index,
        version=found.version,
        keys=len(found.absent),
        absent=len(absent),
        confirmed=found.confirmed,
        named_files=len(found.pairs.column("file").unique()),
        files=found.files,
        uncovered=len(found.uncovered),
        examples=tuple(tuple(str(value) for value in key.values()) for key in first),
    )


@command("duplicates")
def duplicates(
    run: Run, table: TableName, *, on: On, limit: Limit = SHOWN_KEYS, version: Version = None
) -> DuplicateKeys:
    """List the keys that are in more than one row; the status is 1 if there are any."""
    from lakesieve.report import DuplicateKeys

    spark = run.session()
    found = ls.duplicates(table, on, spark=spark, version=version, location=run.location)
    rows = found.keys.orderBy("rows", ascending=False).limit(limit).collect()
    for reason in found.reasons:
        run.output.say(f"All rows were grouped: {reason}")
    return DuplicateKeys(
        table=table,
        on=found.on,
        version=found.version,
        count=found.count,
        files_read=found.files_read,
        files=found.files,
        index=found.index,
        keys=tuple(tuple(str(value) for value in row[:-1]) for row in rows),
        rows=tuple(row[-1] for row in rows),
    )


@command("check-unique")
def check_unique(
    run: Run, table: TableName, *, on: On, limit: Limit = SHOWN_KEYS, version: Version = None
) -> KeyCheck:
    """Check that no key is in more than one row; the status is 1 if one is."""
    spark = run.session()
    return ls.check_unique(
        table, on, spark=spark, version=version, location=run.location, limit=limit
    )


@command("check-references")
def check_references(
    run: Run,
    table: TableName,
    *,
    on: On,
    parent: Annotated[str, option("The table that should have the keys.", metavar="TABLE")],
    parent_on: Annotated[
        list[str] | None,
        option(
            "A column of it, for each `--on` in the same order; by default of the same name.",
            metavar="COLUMN",
        ),
    ] = None,
    limit: Limit = SHOWN_KEYS,
) -> KeyCheck:
    """Check that all keys are keys of another table; the status is 1 if one is missing there."""
    spark = run.session()
    return ls.check_references(
        table, on, parent, parent_on or on, spark=spark, location=run.location, limit=limit
    )
