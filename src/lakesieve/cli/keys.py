"""The commands that answer questions about keys, and check constraints of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

import lakesieve as ls
from lakesieve.cli.command import ON_TABLES, Run, command
from lakesieve.cli.commands import IndexName, TableName, Version

if TYPE_CHECKING:
    from lakesieve.index.key_results import KeyCheck
    from lakesieve.report import DuplicateKeys, KeysFound

On = Annotated[
    list[str],
    typer.Option("--on", metavar="COLUMN", help="A key column; may be given several times."),
]
Limit = Annotated[int, typer.Option(min=0, metavar="N", help="How many keys to show.")]


@command("contains", ON_TABLES)
def contains(
    run: Run,
    table: TableName,
    index: IndexName,
    *,
    keys: Annotated[
        str, typer.Option(metavar="FILE", help="Keys: Parquet, or CSV with a header line.")
    ],
    confirm: Annotated[
        bool, typer.Option("--confirm", help="Read the files that can hold the keys.")
    ] = False,
    limit: Limit = 20,
    version: Version = None,
) -> KeysFound:
    """Tell how many of the keys of a file no row has, from the index alone or confirmed by rows."""
    from lakesieve.report import KeysFound

    opened: ls.Index = ls.open_index(table, index, **run.reach(table))
    found = opened.contains(keys, version, confirm=confirm)
    absent = found.keys.filter(found.absent)
    first = absent.slice(0, limit).to_pylist()
    return KeysFound(
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


@command("duplicates", ON_TABLES)
def duplicates(
    run: Run, table: TableName, *, on: On, limit: Limit = 20, version: Version = None
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


@command("check-unique", ON_TABLES)
def check_unique(
    run: Run, table: TableName, *, on: On, limit: Limit = 20, version: Version = None
) -> KeyCheck:
    """Check that no key is in more than one row; the status is 1 if one is."""
    spark = run.session()
    return ls.check_unique(
        table, on, spark=spark, version=version, location=run.location, limit=limit
    )


@command("check-references", ON_TABLES)
def check_references(
    run: Run,
    table: TableName,
    *,
    on: On,
    parent: Annotated[
        str, typer.Option(metavar="TABLE", help="The table that should have the keys.")
    ],
    parent_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="A column of it, for each `--on` in the same order; by default of the same name.",
        ),
    ] = None,
    limit: Limit = 20,
) -> KeyCheck:
    """Check that all keys are keys of another table; the status is 1 if one is missing there."""
    spark = run.session()
    return ls.check_references(
        table, on, parent, parent_on or on, spark=spark, location=run.location, limit=limit
    )


KEYS = (contains, duplicates, check_unique, check_references)
