"""Commands on rows by key: changes, questions about keys, and checks of keys."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated

import lakesieve as ls
from lakesieve.cli.command import Run, command
from lakesieve.cli.given_files import given_file
from lakesieve.cli.options import (
    ChangeOptions,
    IndexName,
    KeyFile,
    Limit,
    On,
    RowFile,
    TableName,
    Version,
    option,
)
from lakesieve.defaults import SHOWN_KEYS
from lakesieve.errors import ErrorKind, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from lakesieve.index.key_results import KeyCheck
    from lakesieve.index.result import RowChange
    from lakesieve.report import AbsentKeys, DuplicateKeys
    from lakesieve.tables import TableReader


@command(
    "upsert",
    examples=(
        "upsert lake.shop.orders --rows changed.parquet --on order_id --dry-run",
        "upsert lake.shop.orders --rows changed.parquet --on order_id --txn orders-feed:17",
        "upsert lake.shop.orders --rows changed.parquet --on order_id --no-refresh",
    ),
    more="commands.md#upsert-and-delete-by-key",
)
def upsert(run: Run, table: TableName, *, rows: RowFile, change: ChangeOptions) -> RowChange:
    """Update the rows whose keys a file has, and insert its other rows.

    The command makes one commit and then refreshes the table's indexes. A transaction named by
    `--txn` is not repeated: use it to retry safely.
    """
    return _change(run, partial(given_file, rows, "--rows"), ls.upsert, table, change)


@command(
    "delete",
    examples=(
        "delete lake.shop.orders --keys erased.csv --on customer --dry-run",
        "delete lake.shop.orders --keys erased.csv --on customer --txn erasures:17 --no-refresh",
        "cut -d, -f2 erased.csv | lakesieve delete lake.shop.orders --keys - --on customer",
    ),
    more="commands.md#upsert-and-delete-by-key",
)
def delete(run: Run, table: TableName, *, keys: KeyFile, change: ChangeOptions) -> RowChange:
    """Delete the rows whose keys a file has, in one commit.

    Only data files that hold a key are read. Other columns of the file are ignored. Standard input
    may also be one key a line. Older versions of the table keep the rows until they expire.
    """
    # where there are several key columns, one key a line says too little
    key = change.on[0] if len(change.on) == 1 else None
    return _change(run, partial(given_file, keys, "--keys", key), ls.delete, table, change)


@command(
    "insert-new",
    examples=(
        "insert-new lake.shop.orders --rows arrivals.parquet --on order_id --duplicates last",
        "insert-new lake.shop.orders --rows arrivals.parquet --on order_id --dry-run",
        "insert-new lake.shop.orders --rows arrivals.parquet --on order_id --txn f:1 --no-refresh",
    ),
    more="keys.md#insert-only-what-is-new",
)
def insert_new(
    run: Run,
    table: TableName,
    *,
    rows: RowFile,
    duplicates: Annotated[
        str,
        option(
            "Of rows with the same key in the file keep the `first` or the `last`, or fail: "
            "`error`.",
            metavar="RULE",
        ),
    ] = "error",
    change: ChangeOptions,
) -> RowChange:
    """Append only the rows of a file whose keys are not in the table yet."""
    insert = partial(ls.insert_new, duplicates=duplicates)
    return _change(run, partial(given_file, rows, "--rows"), insert, table, change)


def _change(
    run: Run,
    file: Callable[[], AbstractContextManager[str]],
    function: Callable[..., RowChange],
    table: str,
    change: ChangeOptions,
) -> RowChange:
    arguments = change.arguments()
    with file() as path:
        spark = run.session(table, check=partial(_check_change, change.on))
        done = function(path, table, spark=spark, location=run.location, **arguments)
    for reason in done.reasons:
        run.output.error(reason.text(table))
    return done


def _check_change(columns: Sequence[str], table: TableReader) -> None:
    """Refuse a table that cannot be changed, or that lacks some columns."""
    from lakesieve.spark.tables.formats import unchangeable
    from lakesieve.spark.tables.registry import FORMATS

    spec = FORMATS[table.format]
    if spec.changing:
        raise unchangeable(table.name, spec)
    _has(columns)(table)


def _has(columns: Sequence[str]) -> Callable[[TableReader], None]:
    """Return what refuses a table that lacks some columns."""

    def check(table: TableReader) -> None:
        known = [".".join(path) for path in table.columns(table.version())]
        for column in columns:
            if column.replace("`", "").lower() not in {name.lower() for name in known}:
                raise NotFoundError(
                    f"{table.name} has no column {column}.",
                    kind=ErrorKind.COLUMN_NOT_FOUND,
                    hint=f"Its columns are: {', '.join(sorted(known))}.",
                )

    return check


@command(
    "contains",
    examples=(
        "contains lake.shop.orders order_id --keys arrivals.csv",
        "contains lake.shop.orders order_id --keys arrivals.csv --confirm --limit 5",
        "contains lake.shop.orders order_id --keys arrivals.csv --version main",
        "seq 100 200 | lakesieve contains lake.shop.orders order_id --keys -",
    ),
    more="keys.md",
)
def contains(
    run: Run,
    table: TableName,
    index: IndexName,
    *,
    keys: KeyFile,
    confirm: Annotated[
        bool, option("Read the data files that can hold the keys, to be sure.", "--confirm")
    ] = False,
    limit: Limit = SHOWN_KEYS,
    version: Version = None,
) -> AbsentKeys:
    """Count the keys of a file that no row of a table has, and show the first of them.

    The file has columns named like the index's. That a key is absent is exact. The other keys are
    possible, unless `--confirm` reads their rows, with row-level deletes applied.
    """
    from lakesieve.report import AbsentKeys

    opened: ls.Index = ls.open_index(table, index, **run.reach(table))
    with given_file(keys, "--keys", opened.info().columns[0]) as file:
        found = opened.contains(file, version, confirm=confirm)
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


@command(
    "duplicates",
    examples=(
        "duplicates lake.shop.orders --on order_id",
        "duplicates lake.shop.orders --on order_id --on day --limit 5 --version main",
    ),
    more="keys.md#keys-that-are-there-more-than-once",
)
def duplicates(
    run: Run, table: TableName, *, on: On, limit: Limit = SHOWN_KEYS, version: Version = None
) -> DuplicateKeys:
    """List the keys that more than one row has, the most frequent first.

    The exit status is 1 if there are any.
    """
    from lakesieve.report import DuplicateKeys

    spark = run.session(table, check=_has(on))
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


@command(
    "check-unique",
    examples=(
        "check-unique lake.shop.orders --on order_id",
        "check-unique lake.shop.orders --on order_id --on day --limit 5 --version main",
    ),
    more="keys.md#keys-that-are-there-more-than-once",
)
def check_unique(
    run: Run, table: TableName, *, on: On, limit: Limit = SHOWN_KEYS, version: Version = None
) -> KeyCheck:
    """Check that no two rows have the same key; the exit status is 1 if some do."""
    spark = run.session(table, check=_has(on))
    return ls.check_unique(
        table, on, spark=spark, version=version, location=run.location, limit=limit
    )


@command(
    "check-references",
    examples=(
        "check-references lake.shop.orders --on id --parent lake.shop.customers --limit 5",
        "check-references lake.shop.orders --on tenant --parent lake.shop.customers --parent-on id",
    ),
    more="keys.md#keys-that-must-be-in-another-table",
)
def check_references(
    run: Run,
    table: TableName,
    *,
    on: On,
    parent: Annotated[str, option("The table that should have the keys.", metavar="TABLE")],
    parent_on: Annotated[
        list[str] | None,
        option(
            "A column of the parent for each `--on`, in order: by default of the same name.",
            metavar="COLUMN",
        ),
    ] = None,
    limit: Limit = SHOWN_KEYS,
) -> KeyCheck:
    """Check that another table has all keys of a table; the exit status is 1 if one is missing."""
    spark = run.session(table, parent, check=_has(on))
    return ls.check_references(
        table, on, parent, parent_on or on, spark=spark, location=run.location, limit=limit
    )
