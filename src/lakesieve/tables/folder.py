"""The base class of readers of tables that are identified by their folder."""

from __future__ import annotations

from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING

from lakesieve.storage import normalized, open_storage
from lakesieve.tables.paths import table_root

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.storage import Storage, StorageOptions


class FolderReader:
    """A table that is identified by its folder."""

    file_io: Mapping[str, str] = MappingProxyType({})

    def __init__(
        self, name: str, location: str, options: StorageOptions, *, spelled: str | None = None
    ) -> None:
        """Set the folder. Nothing is read yet. An engine may spell the folder in its own way."""
        self.name = name
        self.location = spelled or table_root(normalized(location))
        self._place, self._options = location, options

    @cached_property
    def storage(self) -> Storage:
        """Storage of the table's folder."""
        return open_storage(self._place, self._options(self._place), renew=self._options.renewed)

    def references(self) -> Sequence[str]:
        """Return no names: such tables have no branches or tags."""
        return ()
