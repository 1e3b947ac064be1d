"""The file IO of tables in PyIceberg's catalogs, from the settings of the catalog alone."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyiceberg.catalog import Catalog
    from pyiceberg.io import FileIO

__all__ = ["OwnFileIO", "own_file_io"]


class OwnFileIO:
    """Makes the file IO of a catalog's tables.

    Args:
        settings: Those of the catalog.
    """

    def __init__(self, settings: Mapping[str, Any]) -> None:
        self._settings = dict(settings)
        self._thread = threading.local()

    @property
    def latest_location(self) -> str | None:
        """The file for which this thread has made a file IO last."""
        found: str | None = getattr(self._thread, "location", None)
        return found

    def forget(self) -> None:
        """Forget for which file this thread has made a file IO."""
        self._thread.location = None

    def make(
        self, properties: Mapping[str, Any] | None = None, location: str | None = None
    ) -> FileIO:
        """Make a file IO.

        Args:
            properties: Those of a table. They are not looked at.
            location: A file that it shall reach.
        """
        from pyiceberg.io import load_file_io

        del properties
        self._thread.location = location
        return load_file_io(dict(self._settings), location)


def own_file_io(catalog: Catalog) -> OwnFileIO:
    """Let a catalog of PyIceberg reach the files of its tables by its own settings alone.

    PyIceberg adds the properties of a table to them. With ``py-io-impl`` whoever may change a
    table could name a class that is loaded here, and with ``s3.endpoint`` a host that gets
    requests with the session's token.

    Args:
        catalog: The catalog, which is changed.

    Returns:
        What makes its file IO.
    """
    made = OwnFileIO(catalog.properties)
    catalog._load_file_io = made.make  # type: ignore[method-assign]
    return made
