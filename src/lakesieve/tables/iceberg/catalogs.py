"""Loads the metadata of Iceberg tables from PyIceberg's catalogs or from the tables' folders."""

from __future__ import annotations

import json
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from lakesieve.errors import (
    ErrorKind,
    InvalidInputError,
    LakesieveError,
    NotFoundError,
    SetupError,
    StorageError,
    UnsupportedError,
    not_installed,
)
from lakesieve.printable import secrets_in, without_secrets
from lakesieve.storage import Storage, StorageOptions, open_storage
from lakesieve.tables.iceberg.file_io import own_file_io, own_settings
from lakesieve.tables.iceberg.metadata import (
    LARGEST_METADATA,
    IcebergMetadata,
    metadata_document,
)
from lakesieve.tables.names import FORMS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_HINT = "metadata/version-hint.text"
_LARGEST_HINT = 1 << 10
_VERSIONED = re.compile(r"metadata/v(\d+)(\.gz)?\.metadata\.json(\.gz)?")
_SUFFIXES = (".metadata.json", ".gz.metadata.json", ".metadata.json.gz")
_FILE_IO_PREFIXES = ("s3.", "client.", "gcs.", "adls.", "hdfs.", "py-io-impl")
_NO_TABLE = frozenset({"NoSuchTableError", "NoSuchNamespaceError", "NoSuchIcebergTableError"})
_REFUSED = frozenset({"UnauthorizedError", "ForbiddenError", "AuthorizationExpiredError"})
# what Arrow's file systems say, in whose errors a refusal has no type of its own
_DENIED = re.compile(r"ACCESS_DENIED|SIGNATURE_DOES_NOT_MATCH|INVALID_ACCESS_KEY|\b40[13]\b")


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class LoadedTable:
    """The state of a table when it was loaded.

    ``file_io`` returns the storage settings for the files of the table, under the names that
    PyIceberg or Iceberg for Java uses.
    """

    metadata: IcebergMetadata
    file_io: Callable[[], Mapping[str, str]] = field(default=dict, repr=False)


def catalog_names() -> frozenset[str]:
    """Return the catalogs that PyIceberg's configuration names; none if PyIceberg is missing."""
    try:
        from pyiceberg.utils.config import Config
    except ImportError:
        return frozenset()
    catalogs = Config().config.get("catalog")
    return frozenset(catalogs) if isinstance(catalogs, dict) else frozenset()


def catalog_properties(catalog: str) -> dict[str, str] | None:
    """Return what PyIceberg's configuration says of a catalog, if anything."""
    try:
        from pyiceberg.utils.config import Config
    except ImportError as error:
        raise no_pyiceberg(f"the catalog {catalog}") from error
    found = Config().get_catalog_config(catalog)
    return None if found is None else {name: str(value) for name, value in found.items()}


def names_in_catalog(catalog: str) -> list[tuple[str, ...]]:
    """Return the tables of a catalog in PyIceberg's configuration: namespace and name of each.

    Raises:
        InvalidInputError: There is no such catalog.
        SetupError: PyIceberg, or what it needs for this catalog, is missing.
        StorageError: The catalog refuses, or cannot be reached.
    """
    properties = catalog_properties(catalog)
    if properties is None:
        raise InvalidInputError(
            f"PyIceberg's configuration has no catalog {catalog!r}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint=f"It has: {', '.join(sorted(catalog_names())) or 'none'}. Describe a catalog in "
            ".pyiceberg.yaml, or by variables such as PYICEBERG_CATALOG__NAME__URI.",
        )
    with _catalog_errors("tables", catalog):
        from pyiceberg.catalog import load_catalog

        known = load_catalog(catalog, **properties)
        names: list[tuple[str, ...]] = []
        waiting: list[tuple[str, ...]] = [()]
        seen: set[tuple[str, ...]] = set()
        while waiting:
            for namespace in known.list_namespaces(waiting.pop()):
                # some catalogs also list the namespaces further below
                if namespace not in seen:
                    seen.add(namespace)
                    waiting.append(namespace)
                    names += known.list_tables(namespace)
        return names


def from_catalog(catalog: str, identifier: tuple[str, ...], name: str) -> LoadedTable:
    """Load a table from a catalog that PyIceberg's configuration names.

    Raises:
        NotFoundError: There is no such table.
        SetupError: PyIceberg, or what it needs for this catalog, is missing.
        StorageError: The catalog refuses, or cannot be reached.
    """
    try:
        from pyiceberg.catalog import load_catalog
    except ImportError as error:
        raise no_pyiceberg(name) from error
    with _catalog_errors(name, catalog):
        # PyIceberg itself reads its configuration once a process
        properties = catalog_properties(catalog) or {}
        known = load_catalog(catalog, **properties)
        own_file_io(known)
        table = known.load_table(identifier)
    return from_object(table)


def from_object(table: Any) -> LoadedTable:
    """Take a ``pyiceberg.table.Table`` that PyIceberg has loaded."""
    settings = {
        key: value
        for key, value in own_settings(table).items()
        if key.startswith(_FILE_IO_PREFIXES)
    }
    document = json.loads(table.metadata.model_dump_json())
    return LoadedTable(metadata=IcebergMetadata(document), file_io=lambda: settings)


def no_pyiceberg(name: str) -> SetupError:
    """Return the error for a table that only PyIceberg can load."""
    return not_installed(f"Reading {name} without Spark takes PyIceberg.", "iceberg")


@contextmanager
def _catalog_errors(name: str, catalog: str) -> Iterator[None]:
    """Turn an error of a catalog into one of lakesieve's errors."""
    try:
        yield
    except LakesieveError:
        raise
    except Exception as error:  # catalogs are clients of many kinds, with errors of their own
        secrets = secrets_in(catalog_properties(catalog) or {})
        first = without_secrets(str(error).strip().partition("\n")[0], secrets)
        kind = type(error).__name__
        if kind in _NO_TABLE:
            raise NotFoundError(
                f"There is no table {name} in the catalog {catalog}.",
                kind=ErrorKind.TABLE_NOT_FOUND,
                hint=f"Name it {FORMS}.",
            ) from error
        if kind == "NotInstalledError" or isinstance(error, ImportError):
            raise SetupError(
                f"The catalog {catalog} needs a package that is missing: {first}",
                kind=ErrorKind.DEPENDENCY_MISSING,
                hint="Install PyIceberg with the extra of that catalog.",
            ) from error
        if kind == "ValidationError":
            raise UnsupportedError(
                f"PyIceberg cannot read the metadata of {name}: {first}",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Open it with a Spark session, or with a newer PyIceberg.",
            ) from error
        refused = kind in _REFUSED or _DENIED.search(first) is not None
        raise StorageError(
            f"The catalog {catalog} cannot load {name}: {kind}: {first}",
            kind=ErrorKind.CREDENTIALS if refused else ErrorKind.STORAGE_FAILED,
            hint=f"Check the settings of {catalog} in PyIceberg's configuration.",
        ) from error


def from_folder(location: str, name: str, options: StorageOptions) -> LoadedTable:
    """Load a table as :func:`document_in_folder` finds it.

    Raises:
        NotFoundError: There is no such table.
        UnsupportedError: Its metadata is of an unknown version.
    """
    _, document = document_in_folder(location, name, options)
    return LoadedTable(metadata=IcebergMetadata(document))


def document_in_folder(
    location: str, name: str, options: StorageOptions
) -> tuple[str, dict[str, Any]]:
    """Read the metadata file of a table of a Hadoop catalog, or one metadata file of any table.

    ``location`` is the table's folder, or a path that ends with ``.metadata.json``.

    Returns:
        The location of the metadata file, and its document, of any format version.

    Raises:
        NotFoundError: There is no such table.
        UnsupportedError: It is no metadata file.
    """
    folder, _, file = location.rpartition("/")
    if file.endswith(_SUFFIXES) and folder:
        storage, path = open_storage(folder, options(folder), renew=options.renewed), file
    else:
        storage = open_storage(location, options(location), renew=options.renewed)
        path = _newest(storage) or ""
    if not path:
        raise NotFoundError(
            f"There is no table {name}: {location} has no metadata of an Iceberg table.",
            kind=ErrorKind.TABLE_NOT_FOUND,
            hint="lakesieve tables lists the tables of a catalog.",
        )
    return f"{storage.location}/{path}", _read(storage, path)


def _newest(storage: Storage) -> str | None:
    """Return the path of the newest metadata file, as Iceberg's ``HadoopTables`` finds it."""
    try:
        hint = storage.get(_HINT, most=_LARGEST_HINT).decode(errors="replace").strip()
    except NotFoundError:
        hint = ""
    if hint.endswith(".metadata.json") and "/" not in hint:
        return f"metadata/{hint}"
    number, found = -1, None
    if hint.isascii() and hint.isdigit():
        number, found = int(hint), _versioned(storage, int(hint))
    if found is None:
        number, found = _listed(storage)
    # the hint is written after the commit, if at all
    while found is not None:
        newer = _versioned(storage, number + 1)
        if newer is None:
            break
        number, found = number + 1, newer
    return found


def _versioned(storage: Storage, number: int) -> str | None:
    for suffix in _SUFFIXES:
        path = f"metadata/v{number}{suffix}"
        try:
            storage.head(path)
        except NotFoundError:
            continue
        return path
    return None


def _listed(storage: Storage) -> tuple[int, str | None]:
    number, newest = -1, None
    for info in storage.objects("metadata/"):
        found = _VERSIONED.fullmatch(info.path)
        if found and int(found[1]) > number:
            number, newest = int(found[1]), info.path
    return number, newest


def _read(storage: Storage, path: str) -> dict[str, Any]:
    data = storage.get(path, most=LARGEST_METADATA)
    try:
        document = metadata_document(data)
    except (OSError, EOFError, ValueError) as error:
        raise UnsupportedError(
            f"{storage.location}/{path} is not a metadata file of an Iceberg table: {error}.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Restore the file, or give the identifier of the table in its catalog.",
            public_message=f"{storage.location}/{path} is not a metadata file of an Iceberg table.",
        ) from error
    if not isinstance(document, dict):
        raise InvalidInputError(
            f"{storage.location}/{path} is not a metadata file of an Iceberg table.",
            kind=ErrorKind.NOT_A_TABLE,
            hint="Name the folder of a table.",
        )
    return document
