"""What tables that are known by their folder have in common."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from lakesieve.storage import open_storage
from lakesieve.tables.paths import table_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.storage import Storage, StorageOptions


class FolderReader:
    """A table by its folder, reached by the environment's settings."""

    file_io: Mapping[str, str] = MappingProxyType({})

    def __init__(self, name: str, location: str, options: StorageOptions) -> None:
        self.name = name
        self._storage = open_storage(location, options(location), renew=options.renewed)
        self.location = table_root(self._storage.location)

    @property
    def storage(self) -> Storage:
        """The table's folder."""
        return self._storage

    def references(self) -> Sequence[str]:
        """Such tables have no branches or tags."""
        return ()
