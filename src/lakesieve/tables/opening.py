"""Open tables by name, without an engine."""

from __future__ import annotations

import os
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from lakesieve.defaults import WAREHOUSE
from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.storage import TRUSTED_ROOTS, StorageOptions, normalized, trusted_folders
from lakesieve.tables.formats import FORMATS
from lakesieve.tables.names import EMBEDDED_CATALOG, FORMS, parse_name

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from lakesieve.tables.contract import TableReader
    from lakesieve.tables.names import TableName

_TRUSTED = "LAKESIEVE_TRUSTED_ROOTS"


def options_by_environment(
    file_io: Callable[[], Mapping[str, str]] | None = None,
) -> StorageOptions:
    """Return storage options that take their settings from the environment."""
    return StorageOptions(
        conf={TRUSTED_ROOTS: ",".join(trusted_folders(os.environ.get(_TRUSTED, "")))},
        file_io=file_io() if file_io else {},
        vended=file_io,
    )


def can_open(table: str, *, catalog: str | None = None) -> bool:
    """Return whether :func:`open_table` can open this name with the installed packages."""
    name = parse_name(table)
    if name.format is not None:
        return True
    if catalog is not None:
        return find_spec("pyiceberg") is not None
    parts = name.identifier()
    if len(parts) <= 2 or parts[0] == EMBEDDED_CATALOG:
        return len(parts) > 2
    from lakesieve.tables.iceberg.catalogs import catalog_names

    return parts[0] in catalog_names()


def open_table(
    table: str | Any, *, catalog: str | None = None, warehouse: str = WAREHOUSE
) -> TableReader:
    """Open a table.

    Args:
        table: ``catalog.database.table`` in a catalog from PyIceberg's configuration, or in the
            embedded catalog ``lake``; ``iceberg:PATH``, ``delta:PATH``, ``hudi:PATH`` or
            ``parquet:PATH``; the bare path of an Iceberg table; or a ``pyiceberg.table.Table``.
        catalog: Name of a catalog in PyIceberg's configuration. The identifier may then omit it.
        warehouse: Folder of the embedded catalog.

    Raises:
        NotFoundError: The table does not exist.
        InvalidInputError: The text does not name a table, or its catalog is unknown.
        SetupError: A package that the table needs is not installed.
        StorageError: The catalog or the storage refuses access, or cannot be reached.
    """
    if not isinstance(table, str):
        return _given(table)
    name = parse_name(table)
    if name.format is None:
        return _named(name, catalog, warehouse)
    return FORMATS[name.format].open(name.text, name.path, options_by_environment)


def _named(name: TableName, catalog: str | None, warehouse: str) -> TableReader:
    from lakesieve.tables.iceberg.catalogs import catalog_names, from_catalog
    from lakesieve.tables.iceberg.table import IcebergReader

    parts = name.identifier()
    catalogs = (
        catalog_names() if catalog is not None or parts[0] != EMBEDDED_CATALOG else frozenset()
    )
    if catalog is None:
        if len(parts) > 2 and parts[0] == EMBEDDED_CATALOG:
            location = "/".join((normalized(warehouse), *parts[1:]))
            return FORMATS["iceberg"].open(name.text, location, options_by_environment)
        catalog, parts = parts[0], parts[1:]
    elif len(parts) > 2 and parts[0] == catalog:
        parts = parts[1:]
    if catalog not in catalogs or len(parts) < 2:
        listing = ", ".join(sorted(catalogs)) or "none"
        raise InvalidInputError(
            f"{name.text!r} is not in a known catalog. PyIceberg's configuration has: {listing}.",
            kind=ErrorKind.NOT_A_TABLE,
            hint=f"Name a table as {FORMS}. Describe catalogs in .pyiceberg.yaml, or in variables "
            "such as PYICEBERG_CATALOG__NAME__URI.",
        )
    load = partial(from_catalog, catalog, parts, name.text)
    return IcebergReader(name.text, load, options_by_environment)


def _given(table: Any) -> TableReader:
    """Return a reader for a table object of another library."""
    if type(table).__module__.startswith("pyiceberg."):
        from lakesieve.tables.iceberg.catalogs import from_object
        from lakesieve.tables.iceberg.table import IcebergReader

        return IcebergReader(
            ".".join(table.name()), lambda: from_object(table), options_by_environment
        )
    raise InvalidInputError(
        f"A {type(table).__name__} is not a supported table object.",
        kind=ErrorKind.NOT_A_TABLE,
        hint=f"Name a table as {FORMS}, or pass a table of PyIceberg.",
    )
