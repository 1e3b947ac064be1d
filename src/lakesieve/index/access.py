"""Reach tables and their indexes through a session, or without one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from lakesieve.defaults import WAREHOUSE
from lakesieve.errors import ErrorKind, InvalidInputError, NotFoundError, UnsupportedError
from lakesieve.index.registry import IndexRegistry, index_folders, index_storage, roots_of
from lakesieve.store import IndexStore
from lakesieve.tables.opening import open_table, options_by_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from lakesieve.index.opened import OpenedIndex
    from lakesieve.index.reasons import Reason
    from lakesieve.predicate import Expr
    from lakesieve.storage import Storage, StorageOptions
    from lakesieve.tables import TableReader, TableVersion

    FileIo: TypeAlias = Callable[[], Mapping[str, str]]


@dataclass(frozen=True, eq=False, kw_only=True)
class TableAccess:
    """Opens tables by their names, and finds the folders of their indexes.

    Args:
        options: Returns the storage options of a location, given the properties of the table's own
            file IO, if it has any.
        timezone: The time zone of timestamps that are written without one.
        engine_condition: Returns SQL text as the condition that an engine evaluates above a scan of
            a version, or ``None``. Only an engine understands expressions.
    """

    open_table: Callable[[str], TableReader]
    options: Callable[[FileIo | None], StorageOptions]
    timezone: Callable[[], str]
    engine_condition: Callable[[TableReader, TableVersion, str], Expr | None] | None = None

    def roots(self, table: TableReader, location: str | None = None) -> list[Storage]:
        """Return the folders that may hold indexes of a table, its own folder first."""
        locations = () if location is None else (location,)
        options = self.options(lambda: table.file_io)
        return roots_of(table.location, table.uuid, locations, options)

    def stores(self, table: TableReader, location: str | None = None) -> dict[str, IndexStore]:
        """Return the indexes of a table that have a commit, by name. The first root wins."""
        stores: dict[str, IndexStore] = {}
        for root in self.roots(table, location):
            for name, storage in index_folders(root).items():
                store = IndexStore(storage)
                if name not in stores and store.exists():
                    stores[name] = store
        return stores

    def indexes(
        self, table: TableReader, location: str | None = None
    ) -> tuple[list[OpenedIndex], list[Reason]]:
        """Open the readable indexes of a table, with coded reasons for the others."""
        locations = () if location is None else (location,)
        registry = IndexRegistry(locations, self.options(None))
        return registry.indexes(table.location, table.uuid, file_io=table.file_io)

    def index_storage(self, table: TableReader, name: str, location: str | None) -> Storage:
        """Return the root of an existing index.

        Raises:
            NotFoundError: The table has no index with this name.
        """
        for root in self.roots(table, location):
            storage = index_storage(root, name)
            if IndexStore(storage).exists():
                return storage
        raise no_index(table.name, name)

    def new_storage(
        self, table: TableReader, name: str, location: str | None, *, replace: bool = False
    ) -> Storage:
        """Return the root for a new index. With ``replace``, an index may be there."""
        storage = index_storage(self.roots(table, location)[-1], name)
        if not replace and IndexStore(storage).exists():
            raise InvalidInputError(
                f"{table.name} already has an index {name}.",
                kind=ErrorKind.INDEX_EXISTS,
                hint="Choose another name, or replace the existing index: lakesieve create "
                "--replace, or replace=True.",
            )
        return storage


def without_engine(
    *, catalog: str | None = None, warehouse: str = WAREHOUSE, timezone: str = "UTC"
) -> TableAccess:
    """Return access to tables without a session."""
    return TableAccess(
        open_table=partial(open_table, catalog=catalog, warehouse=warehouse),
        options=options_by_environment,
        timezone=lambda: timezone,
    )


def needs_session(table: str) -> UnsupportedError:
    """Return the error where a table that was opened without a session is asked for more."""
    return UnsupportedError(
        f"This needs Spark, but {table} was opened without a session.",
        kind=ErrorKind.UNSUPPORTED_SESSION,
        hint=f'Open it with a session: ls.table("{table}", spark=ls.local_session()).',
    )


def no_index(table: str, name: str) -> NotFoundError:
    """Return the error for an index that the table does not have."""
    return NotFoundError(
        f"{table} has no index {name}.",
        kind=ErrorKind.INDEX_NOT_FOUND,
        hint="lakesieve list TABLE shows its indexes.",
    )
