"""The file IO of tables in PyIceberg's catalogs, from the settings of the catalog alone."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.catalog import Catalog
    from pyiceberg.io import FileIO
    from pyiceberg.table import Table

_CODE = "py-io-impl"


class OwnFileIO:
    """Makes the file IO of a catalog's tables."""

    def __init__(self, catalog: Catalog) -> None:
        self._settings = dict(catalog.properties)
        self._thread = threading.local()
        kinds = {kind.__name__ for kind in type(catalog).__mro__}
        # it lends settings with each table, and knows which of them are its own
        self._lending = catalog._load_file_io if "RestCatalog" in kinds else None

    @property
    def latest_location(self) -> str | None:
        """Return the file for which this thread has made a file IO last."""
        found: str | None = getattr(self._thread, "location", None)
        return found

    def forget(self) -> None:
        """Forget for which file this thread has made a file IO."""
        self._thread.location = None

    def make(
        self, properties: Mapping[str, Any] | None = None, location: str | None = None
    ) -> FileIO:
        """Make a file IO that reaches a location.

        ``properties`` are those of a table and, of a REST catalog, the settings that it lends. Only
        a REST catalog's are looked at.
        """
        from pyiceberg.io import load_file_io

        self._thread.location = location
        if self._lending is None:
            return load_file_io(dict(self._settings), location)
        return self._lending({k: v for k, v in (properties or {}).items() if k != _CODE}, location)


def own_file_io(catalog: Catalog) -> OwnFileIO:
    """Let a catalog of PyIceberg reach the files of its tables by its own settings alone.

    PyIceberg adds the properties of a table to them. With ``py-io-impl`` whoever may change a
    table could name a class that is loaded here, and with ``s3.endpoint`` a host that gets
    requests with the session's token. A REST catalog lends settings, mixed with such properties;
    there only the class is left out.
    """
    made = OwnFileIO(catalog)
    catalog._load_file_io = made.make  # type: ignore[method-assign]
    return made


def own_settings(table: Table) -> dict[str, str]:
    """Return the settings of a table's file IO without the table's own properties."""
    given = {**table.catalog.properties, **table.config}
    settings = {}
    for name, value in table.io.properties.items():
        if table.metadata.properties.get(name) != value:
            settings[name] = str(value)
        elif name in given:
            # PyIceberg puts the table's properties over the catalog's
            settings[name] = str(given[name])
    return settings
