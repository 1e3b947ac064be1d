"""The public functions that need a Spark session."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError, UnsupportedError
from lakesieve.format import IndexDefinition, KeyColumn
from lakesieve.index import (
    Found,
    Index,
    IndexInfo,
    IndexRegistry,
    TablePruning,
    describe,
    find,
    index_storage,
    roots_of,
)
from lakesieve.spark.build import build_segments, named
from lakesieve.spark.progress import Watch
from lakesieve.spark.pruning import pruning_rows
from lakesieve.spark.rule import installed_rule
from lakesieve.store import Changes, IndexStore, stage_catalogue
from lakesieve.tables import Column, open_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import SparkSession

    from lakesieve.index import BuildProgress
    from lakesieve.storage import Storage
    from lakesieve.tables import Table, TableVersion

__all__ = [
    "create_index",
    "disable",
    "enable",
    "find_files",
    "last_pruning",
    "list_indexes",
    "open_index",
]


def enable(spark: SparkSession, *, locations: Iterable[str] = ()) -> None:
    """Make every query and command of this session skip files from now on.

    Args:
        spark: A classic (not Connect) session.
        locations: Further roots to search for indexes, besides each table's own folder.

    Raises:
        UnsupportedError: A session in which the optimizer cannot be reached.
        SetupError: The table format's runtime is missing.
    """
    rule = installed_rule(spark)
    rule.pruner.relocate(dict.fromkeys(locations))
    rule.activate(active=True)


def disable(spark: SparkSession) -> None:
    """Leave the scans of this session's queries as they are from now on."""
    installed_rule(spark).activate(active=False)


def last_pruning(spark: SparkSession) -> list[TablePruning]:
    """What the latest query of this session did, one entry a table scan."""
    return pruning_rows(installed_rule(spark).report())


def create_index(
    table: str,
    columns: Sequence[str],
    *,
    spark: SparkSession,
    name: str | None = None,
    location: str | None = None,
    progress: Callable[[BuildProgress], None] | None = None,
) -> Index:
    """Index a column of a table: every live data file of its current version.

    Args:
        table: ``catalog.database.table`` or ``iceberg:PATH``.
        columns: The key column; dots lead into structs.
        spark: The session that builds it.
        name: The index's name; by default the columns joined by ``_``.
        location: A root to store it under instead of the table's own folder.
        progress: Called with each :class:`BuildProgress`, from another thread.

    Returns:
        The index, committed and ready.

    Raises:
        NotFoundError: No such table or column.
        InvalidInputError: The index exists, or a name cannot be used.
        UnsupportedError: The column's type cannot be indexed.
        StorageError: The place cannot be written to.
    """
    rule = installed_rule(spark)
    opened = open_table(spark, table)
    version = opened.version()
    column = _key_column(opened, version, columns)
    storage = _place(opened, name or "_".join(columns), location)
    store = IndexStore(storage)
    if store.exists():
        raise InvalidInputError(
            f"{table} already has an index {name or '_'.join(columns)}.",
            kind=ErrorKind.INDEX_EXISTS,
            hint="Choose another name, or drop it first: lakesieve drop TABLE INDEX.",
        )
    storage.probe()
    definition = _definition(opened, column, name or "_".join(columns))
    with Watch(spark, progress, f"lakesieve: index {table} on {column.path[-1]}") as watch:
        built = build_segments(
            spark, rule, opened, version=version, column=column, storage=storage, watch=watch
        )
        watch.phase("commit")
        catalogue = stage_catalogue(storage, built.files)
        store.create(
            definition,
            Changes(
                operation="create",
                table_version={"id": version.id, "timestamp_ms": version.timestamp_ms},
                add_catalogues=(catalogue,) if built.files.num_rows else (),
                add_segments=named(built.segments, catalogue.id),
            ),
        )
    return Index(opened, storage, timezone=_timezone(spark))


def open_index(table: str, name: str, *, spark: SparkSession, location: str | None = None) -> Index:
    """Open an index by its name, which defaults to its columns joined by ``_``.

    Raises:
        NotFoundError: No such table or index.
    """
    opened = open_table(spark, table)
    for root in roots_of(opened.location, opened.uuid, () if location is None else (location,)):
        storage = index_storage(root, name)
        if IndexStore(storage).exists():
            return Index(opened, storage, timezone=_timezone(spark))
    raise NotFoundError(
        f"{table} has no index {name}.",
        kind=ErrorKind.INDEX_NOT_FOUND,
        hint="lakesieve list TABLE names those it has.",
    )


def list_indexes(
    table: str, *, spark: SparkSession, location: str | None = None
) -> list[IndexInfo]:
    """List the indexes of a table that can be read.

    Raises:
        NotFoundError: No such table.
    """
    opened = open_table(spark, table)
    infos = []
    for root in roots_of(opened.location, opened.uuid, () if location is None else (location,)):
        for name in sorted(root.folders("")):
            store = IndexStore(root.child(name))
            if store.exists():
                infos.append(describe(store.snapshot(), opened.name, store.storage.location))
    return infos


def find_files(
    table: str,
    predicate: str,
    *,
    spark: SparkSession,
    version: str | int | None = None,
    location: str | None = None,
) -> Found:
    """Data files that can hold a match, by all indexes of the table together.

    Args:
        table: The table.
        predicate: SQL text.
        spark: The session.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        location: A further root to search for indexes.

    Raises:
        NotFoundError: No such table, column or version.
        InvalidInputError: The predicate cannot be understood.
    """
    opened = open_table(spark, table)
    registry = IndexRegistry(() if location is None else (location,))
    indexes, reasons = registry.indexes(opened.location, opened.uuid)
    return find(opened, indexes, reasons, predicate, version, timezone=_timezone(spark))


def _timezone(spark: SparkSession) -> str:
    return str(spark.conf.get("spark.sql.session.timeZone"))


def _place(table: Table, name: str, location: str | None) -> Storage:
    roots = roots_of(table.location, table.uuid, () if location is None else (location,))
    return index_storage(roots[-1], name)


def _key_column(table: Table, version: TableVersion, columns: Sequence[str]) -> Column:
    if len(columns) != 1:
        raise UnsupportedError(
            f"An index on {len(columns)} columns was asked for.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give exactly one column; several indexes of one table work together.",
        )
    known = table.columns(version)
    asked = columns[0]
    by_name = {".".join(path): column for path, column in known.items()}
    column = by_name.get(asked)
    if column is None:
        folded = [c for n, c in by_name.items() if n.lower() == asked.lower()]
        column = folded[0] if len(folded) == 1 else None
    if column is None:
        for name, outer in by_name.items():
            if outer.type in {"list", "map"} and asked.startswith(f"{name}."):
                raise _not_indexable(f"The column {asked} inside {name}", outer)
        raise NotFoundError(
            f"{table.name} has no column {asked}.",
            kind=ErrorKind.COLUMN_NOT_FOUND,
            hint=f"It has: {', '.join(sorted(by_name))}.",
        )
    if column.kind == "other":
        raise _not_indexable(f"The column {asked}", column)
    return column


def _not_indexable(what: str, column: Column) -> UnsupportedError:
    return UnsupportedError(
        f"{what} of type {column.type} cannot be indexed.",
        kind=ErrorKind.UNSUPPORTED_TYPE,
        hint="Booleans, numbers, dates, timestamps, strings, UUIDs and binary columns can, also as "
        "fields of structs; lists, maps, structs and variants cannot.",
    )


def _definition(table: Table, column: Column, name: str) -> IndexDefinition:
    key = KeyColumn(
        field_id=column.field_id,
        name=".".join(column.path),
        type=column.type,
        key_kind=column.kind,
        scale=column.scale,
    )
    return IndexDefinition(
        name=name,
        index_uuid=str(uuid.uuid4()),
        table_format=table.format,
        table_uuid=table.uuid,
        table_location=table.location,
        columns=(key,),
        created_at=datetime.now(UTC).isoformat(timespec="seconds"),
    )
