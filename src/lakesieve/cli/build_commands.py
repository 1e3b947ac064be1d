"""Commands that give a table an index: by building it, or by sharing another table's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

import lakesieve as ls
from lakesieve.cli.command import Run, command
from lakesieve.cli.options import IndexName, TableName, Version, argument, option
from lakesieve.defaults import ABSENT_HITS, COMPACTION

if TYPE_CHECKING:
    from collections.abc import Callable

    from lakesieve.advisor.result import IndexEstimate
    from lakesieve.index.result import CloneResult, IndexInfo, TradeOffInfo
    from lakesieve.tables import TableReader

MoreIndexes = Annotated[
    list[str] | None,
    option(
        "Build one more index of these columns in the same scan; repeat the option for more.",
        metavar="COLUMN[,COLUMN]",
    ),
]
Budget = Annotated[
    str | None,
    option(
        "Limit the size to `2 bits` a row, or the data files of a query to `1.5 files`; by "
        "default the index is exact.",
        metavar="B",
    ),
]


RowsPerBlock = Annotated[
    str,
    option(
        "Index blocks of this many rows, `none` for data files; `auto` chooses by their size.",
        metavar="N",
    ),
]


@command(
    "create",
    examples=(
        "create lake.tpch.lineitem l_orderkey --dry-run",
        "create lake.tpch.lineitem l_orderkey",
        "create lake.shop.events tenant time --name by_tenant --compaction auto",
        "create lake.tpch.lineitem --index l_partkey --index l_shipdate,l_suppkey",
        'create lake.tpch.lineitem l_suppkey --budget "2 bits" --absent-hits 0.01',
        "create lake.tpch.lineitem l_partkey --rows-per-block 20000 --replace",
        'create lake.tpch.lineitem "l_orderkey % 100" --name by_hundreds',
    ),
    more="tutorial.md",
)
def create(
    run: Run,
    table: TableName,
    columns: Annotated[
        list[str] | None,
        argument("COLUMN...", "Columns of the index in order, or one expression."),
    ] = None,
    *,
    index: MoreIndexes = None,
    name: Annotated[
        str | None, option("Name of the index: by default its columns joined by `_`.")
    ] = None,
    budget: Budget = None,
    absent_hits: Annotated[
        float, option("Share of look-ups of absent values that may still find a data file.")
    ] = ABSENT_HITS,
    compaction: Annotated[
        str,
        option(
            "Merge deltas when there are more than this; `auto` follows the table.", metavar="N"
        ),
    ] = COMPACTION,
    rows_per_block: RowsPerBlock = "auto",
    replace: Annotated[
        bool, option("Replace an index of the same name when the new one is complete.", "--replace")
    ] = False,
    dry_run: Annotated[
        bool, option("Only estimate what the index costs and saves, by trials.", "--dry-run")
    ] = False,
) -> IndexInfo | list[IndexInfo] | IndexEstimate | list[IndexEstimate]:
    """Build an index of columns and expressions over all data files of a table.

    An index of several columns answers conditions on the first column, on the first two, and so
    on. All indexes of one command are built in one scan; if one fails, the others are still built.
    Each halving of `--absent-hits` costs about one bit a key. `--dry-run` builds trial indexes over
    some data files, shows the size, the build time and the data files that a look-up would read,
    and deletes them.
    """
    wanted = _wanted(columns, index, name)
    how: dict[str, Any] = {"budget": budget, "absent_hits": absent_hits}
    check = _check(
        run, wanted, name, how | {"compaction": compaction}, new=not dry_run and not replace
    )
    spark = run.session(table, check=check)
    what = "; ".join(", ".join(each) for each in wanted)
    verb = "Trying" if dry_run else "Indexing"
    with run.output.building(f"{verb} {what} of {table}") as progress:
        how |= {"spark": spark, "location": run.location, "progress": progress}
        how["rows_per_block"] = _rows(rows_per_block)
        if dry_run:
            from lakesieve.advisor.index_estimates import estimate_indexes

            estimates = estimate_indexes(table, wanted, **how)
            return estimates if index else estimates[0]
        how |= {"compaction": compaction, "replace": replace}
        if not index:
            return ls.create_index(table, wanted[0], name=name, **how).info()
        return [each.info() for each in ls.create_indexes(table, wanted, **how)]


def _rows(given: str) -> int | str | None:
    """Read ``--rows-per-block``."""
    if given in {"auto", "none"}:
        return None if given == "none" else given
    if not given.isdecimal():
        raise typer.BadParameter(
            f"{given} is not a number of rows, none or auto", param_hint="--rows-per-block"
        )
    return int(given)


def _wanted(
    columns: list[str] | None, index: list[str] | None, name: str | None
) -> list[list[str]]:
    """Return the columns of each index that ``create`` is to make."""
    wanted = [columns] if columns else []
    wanted += [[column.strip() for column in each.split(",")] for each in index or ()]
    if not wanted:
        raise typer.BadParameter("name the columns, or give --index", param_hint="COLUMN...")
    if index and name is not None:
        raise typer.BadParameter("several indexes cannot have one name", param_hint="--name")
    return wanted


def _check(
    run: Run, wanted: list[list[str]], name: str | None, settings: dict[str, Any], *, new: bool
) -> Callable[[TableReader], None]:
    """Return what refuses indexes of a table that could not be created."""

    def check(table: TableReader) -> None:
        from lakesieve.index.access import without_engine
        from lakesieve.index.definition import (
            default_name,
            define,
            is_expression,
            key_columns,
        )

        version = table.version()
        known = table.columns(version)
        for columns in wanted:
            index = name or default_name(columns)
            # whether an expression can be a key is known to Spark alone
            if not any(is_expression(known, column) for column in columns):
                define(table, key_columns(table, version, columns), index, **settings)
            if new:
                without_engine(**run.catalogs()).new_storage(table, index, run.location)

    return check


@command(
    "curve",
    examples=(
        "curve lake.tpch.lineitem l_orderkey",
        "curve lake.tpch.lineitem l_orderkey --rows-per-block 20000",
    ),
)
def curve(
    run: Run,
    table: TableName,
    columns: Annotated[list[str], argument("COLUMN...", "Columns of the index, in order.")],
    *,
    rows_per_block: RowsPerBlock = "none",
) -> list[TradeOffInfo]:
    """Show what an index costs at each budget: bits a row, and data files read in vain.

    The command tries all budgets on one range of the keys, about half a million rows. Smaller
    indexes name more data files that do not hold the key.
    """
    spark = run.session(table, check=_check(run, [columns], None, _AS_BY_DEFAULT, new=False))
    with run.output.building(f"Trying budgets for {', '.join(columns)} of {table}") as progress:
        rows = _rows(rows_per_block)
        return ls.trade_offs(table, columns, spark=spark, rows_per_block=rows, progress=progress)


_AS_BY_DEFAULT = {"budget": None, "absent_hits": ABSENT_HITS, "compaction": COMPACTION}


@command(
    "clone",
    examples=(
        "clone lake.tpch.lineitem l_orderkey lake.tpch.lineitem_test",
        "clone lake.tpch.lineitem l_orderkey lake.tpch.lineitem_test --name orders --commit 4",
    ),
)
def clone(
    run: Run,
    table: TableName,
    index: IndexName,
    target: Annotated[str, argument("TARGET", "Another table that shares data files.")],
    *,
    name: Annotated[str | None, option("Name of the clone: by default the same.")] = None,
    commit: Annotated[
        int | None, option("Clone the index after this commit, not the newest.", metavar="N")
    ] = None,
) -> CloneResult:
    """Give another table that shares data files an index, without building it.

    Nothing is copied. From then on the two indexes are independent.
    """
    opened: ls.Index = ls.open_index(table, index, **run.reach(table))
    return opened.clone(target, name=name, commit=commit)


@command(
    "clone-table",
    examples=("clone-table lake.tpch.lineitem lake.test.lineitem --version audited",),
)
def clone_table(
    run: Run,
    table: TableName,
    target: Annotated[str, argument("TARGET", "Name of the copy, in the same catalog.")],
    version: Version = None,
) -> list[CloneResult]:
    """Copy an Iceberg table with all its indexes, without copying data.

    The copy never deletes a data file: its property `gc.enabled` is off. Data files that the
    *original* table expires are gone for the copy as well.
    """
    spark = run.session(table)
    return ls.clone_table(table, target, spark=spark, version=version, location=run.location)
