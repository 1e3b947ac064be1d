"""The catalogs whose tables are served: any of PyIceberg's, and the embedded warehouse."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from pyiceberg import exceptions as raised
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io import load_file_io
from pyiceberg.table import CommitTableRequest, TableProperties
from pyiceberg.table.metadata import TableMetadataUtil

from lakesieve.errors import (
    CommitConflictError,
    ErrorKind,
    InvalidInputError,
    NotFoundError,
    UnsupportedError,
)
from lakesieve.serve.kept import Kept
from lakesieve.storage import normalized, open_storage
from lakesieve.tables.iceberg.catalogs import from_folder
from lakesieve.tables.opening import options_by_environment

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyiceberg.catalog import Catalog as PyIceberg
    from pyiceberg.io import FileIO
    from pyiceberg.table.metadata import TableMetadata
    from sqlalchemy import Select

__all__ = ["Catalog", "Namespace", "PyIcebergCatalog", "ServedTable", "WarehouseCatalog"]

_TABLE_BYTES = 256 << 20

Namespace = tuple[str, ...]
"""A namespace by its levels."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ServedTable:
    """A table as it is at one moment.

    Args:
        path: Where its metadata file lies.
        document: What that says.
        metadata: The same as PyIceberg has it.
        io: Reads its files.
        config: What a client gets with it.
    """

    path: str
    document: Mapping[str, Any]
    metadata: TableMetadata
    io: FileIO
    config: Mapping[str, str] = field(default_factory=dict)


# what PyIceberg ends in over updates that are none; pydantic's own error is a ValueError
_NO_COMMIT = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
# a name that no other metadata file has
_UNIQUE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[^/]*\.metadata\.json", re.ASCII)


class Catalog(Protocol):
    """What a catalog tells of its tables."""

    @property
    def takes_commits(self) -> bool:
        """Whether tables can be changed through it."""

    def namespaces(self, parent: Namespace) -> list[Namespace]:
        """The namespaces directly below one.

        Args:
            parent: The one; without levels it is the root.

        Raises:
            NotFoundError: There is no such namespace.
        """

    def properties(self, namespace: Namespace) -> dict[str, str]:
        """The properties of a namespace.

        Args:
            namespace: Which.

        Raises:
            NotFoundError: There is no such namespace.
        """

    def tables(self, namespace: Namespace) -> list[str]:
        """Names of the tables of a namespace.

        Args:
            namespace: Which.

        Raises:
            NotFoundError: There is no such namespace.
        """

    def load(self, namespace: Namespace, table: str) -> ServedTable:
        """Load a table.

        Args:
            namespace: Of the table.
            table: Its name.

        Raises:
            NotFoundError: There is no such table.
        """

    def commit(self, namespace: Namespace, table: str, body: Any) -> ServedTable:
        """Change a table, where the catalog does so atomically.

        Args:
            namespace: Of the table.
            table: Its name.
            body: Requirements and updates, as the specification has them.

        Returns:
            The table as it is then.

        Raises:
            NotFoundError: There is no such table.
            InvalidInputError: The body cannot be read.
            CommitConflictError: A requirement does not hold, or another commit was first.
            UnsupportedError: The catalog takes no commits here.
        """


@cache
def _metadata_location() -> Select[Any]:
    """Where a table's newest metadata is: made once, as that takes longer than to ask."""
    from pyiceberg.catalog.sql import IcebergTables
    from sqlalchemy import bindparam, select

    return select(IcebergTables.metadata_location).where(
        IcebergTables.catalog_name == bindparam("catalog"),
        IcebergTables.table_namespace == bindparam("namespace"),
        IcebergTables.table_name == bindparam("name"),
    )


class PyIcebergCatalog:
    """A catalog that PyIceberg knows.

    Args:
        catalog: The catalog.
    """

    def __init__(self, catalog: PyIceberg) -> None:
        self._catalog = catalog
        self._tables = Kept(_TABLE_BYTES)

    @property
    def takes_commits(self) -> bool:
        """Whether it is one in SQL, which changes a table atomically."""
        return isinstance(self._catalog, SqlCatalog)

    def namespaces(self, parent: Namespace) -> list[Namespace]:
        """The namespaces directly below one."""
        try:
            found = self._catalog.list_namespaces(parent)
        except raised.NoSuchNamespaceError:
            raise _no_namespace(parent) from None
        # some catalogs list all that are below
        return sorted({tuple(name)[: len(parent) + 1] for name in found if len(name) > len(parent)})

    def properties(self, namespace: Namespace) -> dict[str, str]:
        """The properties of a namespace."""
        try:
            return dict(self._catalog.load_namespace_properties(namespace))
        except raised.NoSuchNamespaceError:
            raise _no_namespace(namespace) from None

    def tables(self, namespace: Namespace) -> list[str]:
        """Names of the tables of a namespace."""
        try:
            return sorted(name[-1] for name in self._catalog.list_tables(namespace))
        except raised.NoSuchNamespaceError:
            raise _no_namespace(namespace) from None

    def _path(self, namespace: Namespace, table: str) -> str | None:
        """The newest metadata file of a table, if that is known and its name is no other's ever."""
        if not isinstance(self._catalog, SqlCatalog):
            return None
        given = {"catalog": self._catalog.name, "namespace": ".".join(namespace), "name": table}
        with self._catalog.engine.connect() as connection:
            found = connection.scalar(_metadata_location(), given)
        return found if found is not None and _UNIQUE.search(found) else None

    def load(self, namespace: Namespace, table: str) -> ServedTable:
        """As for :meth:`Catalog.load`."""
        path = self._path(namespace, table)
        if path is None:
            return self._load(namespace, table)[0]
        found: ServedTable = self._tables.get((path,), lambda: self._load(namespace, table))
        return found

    def _load(self, namespace: Namespace, table: str) -> tuple[ServedTable, int]:
        """A table, and about how many bytes it takes."""
        try:
            loaded = self._catalog.load_table((*namespace, table))
        except (raised.NoSuchTableError, raised.NoSuchNamespaceError):
            raise _no_table(namespace, table) from None
        text = loaded.metadata.model_dump_json()
        made = ServedTable(
            document=json.loads(text),
            path=loaded.metadata_location,
            metadata=loaded.metadata,
            io=loaded.io,
            config=loaded.config,
        )
        return made, 10 * len(text)

    def commit(self, namespace: Namespace, table: str, body: Any) -> ServedTable:
        """As for :meth:`Catalog.commit`, in catalogs in SQL."""
        if not self.takes_commits:
            raise _read_only("this kind of catalog")
        identifier = {"namespace": list(namespace), "name": table}
        try:
            request = CommitTableRequest.model_validate({**body, "identifier": identifier})
        except _NO_COMMIT as error:
            first = str(error).partition("\n")[0]
            raise InvalidInputError(
                f"The commit to {'.'.join((*namespace, table))} cannot be read: {first}.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Send a CommitTableRequest of Iceberg's REST specification.",
            ) from error
        try:
            loaded = self._catalog.load_table((*namespace, table))
        except (raised.NoSuchTableError, raised.NoSuchNamespaceError):
            raise _no_table(namespace, table) from None
        _check_places(loaded.metadata.location, request.updates)
        try:
            self._catalog.commit_table(loaded, request.requirements, request.updates)
        except (raised.NoSuchTableError, raised.NoSuchNamespaceError):
            raise _no_table(namespace, table) from None
        except raised.CommitFailedException as error:
            raise CommitConflictError(
                f"The commit to {'.'.join((*namespace, table))} failed: {error}.",
                kind=ErrorKind.CONFLICT,
                hint="Load the table again, and commit to that.",
            ) from error
        except (*_NO_COMMIT, NotImplementedError) as error:
            raise InvalidInputError(
                f"The commit to {'.'.join((*namespace, table))} makes no table: {error}.",
                kind=ErrorKind.INVALID_ARGUMENT,
                hint="Send updates that fit the table.",
            ) from error
        return self.load(namespace, table)


class WarehouseCatalog:
    """The tables in the folders of the embedded catalog's warehouse, as Hadoop's catalog has them.

    Args:
        warehouse: Its folder.
    """

    takes_commits = False

    def __init__(self, warehouse: str) -> None:
        self._location = normalized(warehouse)
        options = options_by_environment()
        self._root = open_storage(self._location, options(self._location))

    def _below(self, namespace: Namespace) -> list[tuple[str, bool]]:
        """The folders of a namespace, each with whether it is a table."""
        _check(namespace)
        folder = "/".join(namespace)
        above = "/".join(namespace[:-1])
        if namespace and namespace[-1] not in self._root.folders(above):
            raise _no_namespace(namespace)
        names = [name for name in self._root.folders(folder) if not name.startswith((".", "_"))]
        return [(name, "metadata" in self._root.folders(f"{folder}/{name}")) for name in names]

    def namespaces(self, parent: Namespace) -> list[Namespace]:
        """The namespaces directly below one."""
        return [(*parent, name) for name, is_table in self._below(parent) if not is_table]

    def properties(self, namespace: Namespace) -> dict[str, str]:
        """The properties of a namespace: where it lies."""
        self._below(namespace)
        return {"location": "/".join((self._location, *namespace))}

    def tables(self, namespace: Namespace) -> list[str]:
        """Names of the tables of a namespace."""
        return [name for name, is_table in self._below(namespace) if is_table]

    def load(self, namespace: Namespace, table: str) -> ServedTable:
        """As for :meth:`Catalog.load`."""
        _check((*namespace, table))
        location = "/".join((self._location, *namespace, table))
        name = ".".join((*namespace, table))
        loaded = from_folder(location, name, options_by_environment())
        document = loaded.metadata.document
        return ServedTable(
            path=loaded.path,
            document=document,
            metadata=TableMetadataUtil.parse_obj(dict(document)),
            io=load_file_io({}, location=location),
        )

    def commit(self, namespace: Namespace, table: str, body: Any) -> ServedTable:
        """As for :meth:`Catalog.commit`: none are taken."""
        del namespace, table, body
        raise _read_only("the embedded catalog")


def _read_only(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"Commits to {what} are not served: they could not be atomic.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint="Commit through the catalog itself.",
    )


def _check_places(location: str, updates: Iterable[Any]) -> None:
    """Insist that no commit makes this server write, or load code, elsewhere than it does now."""
    for update in updates:
        moved = update.action == "set-location" and update.location != location
        given = update.updates if update.action == "set-properties" else {}
        metadata = given.get(TableProperties.WRITE_METADATA_PATH, "")
        if (
            moved
            or (metadata and not f"{metadata}/".startswith(f"{location.rstrip('/')}/"))
            or ".." in metadata.split("/")
            or TableProperties.WRITE_PY_LOCATION_PROVIDER_IMPL in given
        ):
            raise UnsupportedError(
                "Commits that change where a table's metadata is written are not served.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Commit through the catalog itself.",
            )


def _check(names: Namespace) -> None:
    """Insist that names stay in the warehouse."""
    for name in names:
        if not name or name in {".", ".."} or "/" in name or "\\" in name or "\0" in name:
            raise _no_namespace(names)


def _no_namespace(namespace: Namespace) -> NotFoundError:
    return NotFoundError(
        f"There is no namespace {'.'.join(namespace)!r}.",
        kind=ErrorKind.TABLE_NOT_FOUND,
        hint="List the namespaces of the catalog.",
    )


def _no_table(namespace: Namespace, table: str) -> NotFoundError:
    return NotFoundError(
        f"There is no table {'.'.join((*namespace, table))!r}.",
        kind=ErrorKind.TABLE_NOT_FOUND,
        hint="List the tables of its namespace.",
    )
