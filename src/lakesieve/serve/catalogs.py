"""The catalogs whose tables are served: any of PyIceberg's, and the embedded warehouse."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pyiceberg import exceptions as raised
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.io import load_file_io

from lakesieve.errors import (
    ErrorKind,
    LakesieveError,
    NotFoundError,
    StorageError,
    UnsupportedError,
)
from lakesieve.serve.commits import SqlCommit
from lakesieve.serve.metadata import parsed, read_document
from lakesieve.storage import normalized, open_storage
from lakesieve.tables.iceberg.catalogs import document_in_folder
from lakesieve.tables.iceberg.file_io import own_file_io
from lakesieve.tables.iceberg.manifest_cache import ContentCache
from lakesieve.tables.listing import folders_in
from lakesieve.tables.opening import options_by_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyiceberg.catalog import Catalog as PyIceberg
    from pyiceberg.io import FileIO
    from pyiceberg.table.metadata import TableMetadata
    from sqlalchemy import Select

    from lakesieve.serve.bounds import TableBounds

_TABLE_BYTES = 256 << 20

Namespace = tuple[str, ...]
"""The levels of a namespace."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ServedTable:
    """A table at one moment, as one caller may have it."""

    path: str  # location of its metadata file
    document: Mapping[str, Any]  # the content of the metadata file
    # the same as PyIceberg reads it; `None` if it cannot: then clients plan scans by themselves
    metadata: TableMetadata | None
    io: FileIO  # reads the files of the table
    credentials: Any = None  # those that belong to a plan, in the form of the specification
    grant: str = ""  # who may use what is kept of the table's files; empty for every caller
    bounds: TableBounds | None = None  # folder of the files; `None` where every path is trusted


# a name that no other metadata file has
_UNIQUE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}[^/]*\.metadata\.json", re.ASCII)


@cache
def _metadata_location() -> Select[Any]:
    """Return the query for a table's newest metadata. Making it takes longer than running it."""
    from pyiceberg.catalog.sql import IcebergTables
    from sqlalchemy import bindparam, select

    return select(IcebergTables.metadata_location).where(
        IcebergTables.catalog_name == bindparam("catalog"),
        IcebergTables.table_namespace == bindparam("namespace"),
        IcebergTables.table_name == bindparam("name"),
    )


class PyIcebergCatalog:
    """A catalog that PyIceberg knows.

    The file IO of its tables follows from the catalog's settings alone. PyIceberg would add the
    properties of each table, which every caller who commits can set, and load a class that they
    name.
    """

    def __init__(self, catalog: PyIceberg) -> None:
        self._catalog = catalog
        self._ios = own_file_io(catalog)
        self._tables = ContentCache(_TABLE_BYTES)

    @property
    def takes_commits(self) -> bool:
        """True for a catalog in SQL, which changes a table atomically."""
        return isinstance(self._catalog, SqlCatalog)

    def namespaces(self, parent: Namespace) -> list[Namespace]:
        """Return the namespaces directly below one.

        Raises:
            NotFoundError: There is no such namespace.
        """
        with _asking(parent):
            found = self._catalog.list_namespaces(parent)
        # some catalogs list all that are below
        return sorted({tuple(name)[: len(parent) + 1] for name in found if len(name) > len(parent)})

    def properties(self, namespace: Namespace) -> dict[str, str]:
        """Return the properties of a namespace."""
        with _asking(namespace):
            return dict(self._catalog.load_namespace_properties(namespace))

    def tables(self, namespace: Namespace) -> list[str]:
        """Return the names of the tables of a namespace."""
        with _asking(namespace):
            return sorted(name[-1] for name in self._catalog.list_tables(namespace))

    def load(self, namespace: Namespace, table: str) -> ServedTable:
        """Load a table.

        Raises:
            NotFoundError: There is no such table.
        """
        _check((*namespace, table))
        with _asking(namespace, table):
            if not isinstance(self._catalog, SqlCatalog):
                return self._loaded(namespace, table)
            path = self._path(self._catalog, namespace, table)
            if not _UNIQUE.search(path):
                return self._read(path)[0]
            found: ServedTable = self._tables.get((path,), lambda: self._read(path))
            return found

    def _path(self, catalog: SqlCatalog, namespace: Namespace, table: str) -> str:
        """Return the newest metadata file of a table of a catalog in SQL."""
        given = {"catalog": catalog.name, "namespace": ".".join(namespace), "name": table}
        with catalog.engine.connect() as connection:
            path = connection.scalar(_metadata_location(), given)
        if path is None:
            raise _no_table(namespace, table)
        return str(path)

    def _read(self, path: str) -> tuple[ServedTable, int]:
        """Return the table of a metadata file, and about how many bytes it takes."""
        io = self._ios.make(location=path)
        document, size = read_document(io, path)
        made = ServedTable(path=path, document=document, metadata=parsed(document), io=io)
        return made, 10 * size

    def _loaded(self, namespace: Namespace, table: str) -> ServedTable:
        """Return a table that PyIceberg loads, or whose metadata file it finds."""
        self._ios.forget()
        try:
            loaded = self._catalog.load_table((*namespace, table))
        except (ValueError, TypeError, KeyError):
            # a type or a feature that it does not know
            path = self._ios.latest_location
            if path is None:
                raise
            return self._read(path)[0]
        return ServedTable(
            document=json.loads(loaded.metadata.model_dump_json()),
            path=loaded.metadata_location,
            metadata=loaded.metadata,
            io=loaded.io,
        )

    def commit(self, namespace: Namespace, table: str, body: Any) -> ServedTable:
        """Change a table of a catalog in SQL, and return the changed table.

        Raises:
            NotFoundError: There is no such table.
            InvalidInputError: The body cannot be read.
            CommitConflictError: A requirement does not hold, or another commit was first.
            UnsupportedError: The catalog takes no commits, or not this one.
        """
        if not isinstance(self._catalog, SqlCatalog):
            raise _read_only("this kind of catalog")
        commit = SqlCommit(self._catalog, namespace, table)
        request = commit.parse(body)
        current = self.load(namespace, table)
        with _asking(namespace, table):
            commit.make(request, current)
        try:
            return self.load(namespace, table)
        except Exception as error:
            # clients that are asked to try again would commit twice
            raise StorageError(
                f"The commit was made, but {'.'.join(namespace)}.{table} cannot be read: {error}",
                kind=ErrorKind.COMMIT_UNKNOWN,
                hint="Load the table, and look for the commit in its history.",
                public_message="The commit was made, but the table cannot be read now.",
            ) from error


class WarehouseCatalog:
    """The tables in the folder of the embedded catalog, laid out as by Iceberg's Hadoop catalog."""

    takes_commits = False

    def __init__(self, warehouse: str) -> None:
        self._location = normalized(warehouse)
        options = options_by_environment()
        self._root = open_storage(self._location, options(self._location))

    def _below(self, namespace: Namespace) -> list[tuple[str, bool]]:
        """Return the folders of a namespace, each with whether it is a table."""
        _check(namespace)
        if namespace and namespace[-1] not in self._root.folders("/".join(namespace[:-1])):
            raise _no_namespace(namespace)
        return folders_in(self._root, namespace)

    def namespaces(self, parent: Namespace) -> list[Namespace]:
        """Return the namespaces directly below one."""
        return [(*parent, name) for name, is_table in self._below(parent) if not is_table]

    def properties(self, namespace: Namespace) -> dict[str, str]:
        """Return the properties of a namespace: its location."""
        self._below(namespace)
        return {"location": "/".join((self._location, *namespace))}

    def tables(self, namespace: Namespace) -> list[str]:
        """Return the names of the tables of a namespace."""
        return [name for name, is_table in self._below(namespace) if is_table]

    def load(self, namespace: Namespace, table: str) -> ServedTable:
        """Load a table."""
        _check((*namespace, table))
        location = "/".join((self._location, *namespace, table))
        name = ".".join((*namespace, table))
        path, document = document_in_folder(location, name, options_by_environment())
        return ServedTable(
            path=path,
            document=document,
            metadata=parsed(document),
            io=load_file_io({}, location=location),
        )

    def commit(self, namespace: Namespace, table: str, body: Any) -> ServedTable:
        """Refuse a commit."""
        del namespace, table, body
        raise _read_only("the embedded catalog")


Catalog = PyIcebergCatalog | WarehouseCatalog


@contextmanager
def _asking(namespace: Namespace, table: str | None = None) -> Iterator[None]:
    """Turn the errors of a catalog into errors that repeat none of its words."""
    try:
        yield
    except LakesieveError:
        raise
    except raised.NoSuchNamespaceError:
        raise (_no_namespace(namespace) if table is None else _no_table(namespace, table)) from None
    except (raised.NoSuchTableError, raised.NoSuchIcebergTableError):
        raise _no_table(namespace, table or "") from None
    except Exception as error:
        raise StorageError(
            f"The catalog failed: {type(error).__name__}: {error}",
            kind=ErrorKind.STORAGE_FAILED,
            hint="Try again; the log of the server says more.",
            public_message="The catalog cannot be read or written now.",
        ) from error


def _read_only(what: str) -> UnsupportedError:
    return UnsupportedError(
        f"Commits to {what} are not served: they could not be atomic.",
        kind=ErrorKind.UNSUPPORTED_TABLE,
        hint="Commit through the catalog itself.",
    )


def _check(names: Namespace) -> None:
    """Refuse names that lead out of the warehouse."""
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
