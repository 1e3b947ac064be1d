"""The tables of a catalog, listed without an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.defaults import WAREHOUSE
from lakesieve.storage import normalized, open_storage
from lakesieve.tables.iceberg.catalogs import names_in_catalog
from lakesieve.tables.names import EMBEDDED_CATALOG, quoted_name
from lakesieve.tables.opening import options_by_environment

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lakesieve.storage import Storage

_DEEPEST = 8
"""Levels of namespaces below which no tables are looked for."""


def table_names(*, catalog: str | None = None, warehouse: str = WAREHOUSE) -> list[str]:
    """Return the names of all tables of a catalog, as :func:`open_table` takes them.

    ``catalog`` is the name of a catalog in PyIceberg's configuration. Without one, these are the
    tables in the folders of the embedded catalog's warehouse.

    Raises:
        InvalidInputError: PyIceberg's configuration has no such catalog.
        SetupError: PyIceberg, or a package that this catalog takes, is missing.
        StorageError: The catalog or the storage refuses, or cannot be reached.
    """
    if catalog is not None:
        return sorted(quoted_name((catalog, *name)) for name in names_in_catalog(catalog))
    location = normalized(warehouse)
    root = open_storage(location, options_by_environment()(location))
    return sorted(quoted_name((EMBEDDED_CATALOG, *name)) for name in _below(root, ()))


def folders_in(root: Storage, namespace: tuple[str, ...]) -> list[tuple[str, bool]]:
    """Return the folders of a namespace of a warehouse, each with whether it is a table."""
    names = [name for name in root.folders("/".join(namespace)) if not name.startswith((".", "_"))]
    return [(name, "metadata" in root.folders("/".join((*namespace, name)))) for name in names]


def _below(root: Storage, namespace: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    """Yield the tables of a namespace, at any depth."""
    for name, is_table in folders_in(root, namespace):
        path = (*namespace, name)
        # a table is in a namespace
        if len(path) > 1 and is_table:
            yield path
        elif len(path) < _DEEPEST:
            yield from _below(root, path)
