"""A table of one column in memory, with versions, and an index of it built without Spark."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from tests.kit.building import build_index, refresh_index

from lakesieve.index import Index
from lakesieve.index.access import without_engine
from lakesieve.sieve import KeyType, encode_keys
from lakesieve.tables import Column, TableVersion
from lakesieve.tables.statistics import FileBounds, FileStatistics, bounds_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_numbers = itertools.count()


@dataclass(kw_only=True)
class KeyTable:
    """A table whose rows have a single column ``k``.

    Args:
        column: The column.
        files: The values of each data file, by path.
        versions: The paths of the data files of each version.
        has_deletes: Whether every version has row-level deletes.
        has_statistics: Whether the bounds of data files are known.
    """

    column: Column
    files: Mapping[str, pa.Array]
    versions: list[list[str]]
    has_deletes: bool = False
    has_statistics: bool = False
    name: str = "t"
    format: str = "parquet"
    file_io: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    location: str = field(default_factory=lambda: f"memory://key-table-{next(_numbers)}/t")

    @property
    def uuid(self) -> str:
        """Identity of the table."""
        return self.location

    def reload(self) -> None:
        """Do nothing: a test changes the versions itself."""

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Return a version by its number, or the last one."""
        return TableVersion(id=str(len(self.versions) - 1 if spec is None else spec), schema="")

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """Return the column."""
        del version
        return {("k",): self.column}

    def live_files(self, version: TableVersion) -> pa.Table:
        """Return the data files of a version."""
        paths = self.versions[int(str(version.id))]
        return pa.table(
            {
                "path": pa.array(paths, pa.string()),
                "size": pa.array([1] * len(paths), pa.int64()),
                "records": pa.array([len(self.files[path]) for path in paths], pa.int64()),
            }
        )

    def retained_files(self) -> pa.ChunkedArray:
        """Return the data files of all versions."""
        every = sorted({path for paths in self.versions for path in paths})
        return pa.chunked_array([pa.array(every, pa.string())])

    def references(self) -> Sequence[str]:
        """Return no names."""
        return ()

    def has_row_deletes(self, version: TableVersion) -> bool:
        """Return whether there are row-level deletes."""
        del version
        return self.has_deletes

    def file_statistics(self, version: TableVersion) -> FileStatistics | None:
        """Return the bounds of the data files of a version. NaN is in no bounds."""
        if not self.has_statistics:
            return None
        paths = self.versions[int(str(version.id))]
        columns = self.columns(version)
        return FileStatistics(columns=columns, read=lambda _: self._bounds(paths))

    def _bounds(self, paths: Sequence[str]) -> FileBounds:
        column = self.column
        key_type = KeyType(kind=column.kind, scale=column.scale, precision=column.precision)
        nan = encode_keys(KeyType(kind="float"), pa.array([math.nan]))[0].as_py()
        found = [encode_keys(key_type, self.files[path]).to_pylist() for path in paths]
        is_nan = nan if column.kind == "float" else None
        values = [[code for code in codes if code not in (None, is_nan)] for codes in found]
        part = bounds_of(
            column,
            [min(codes, default=None) for codes in values],
            [max(codes, default=None) for codes in values],
            has_null=np.array([None in codes for codes in found], bool),
            has_value=np.array([set(codes) != {None} and bool(codes) for codes in found], bool),
            has_nan=np.array([is_nan is not None and is_nan in codes for codes in found], bool),
        )
        known = pa.chunked_array([pa.array(paths, pa.string())])
        return FileBounds(paths=known, parts=[part])

    def values(self, version: int | None = None) -> pa.ChunkedArray:
        """Return the rows of a version, as a scan without an index reads them."""
        paths = self.versions[-1 if version is None else version]
        kind = next(iter(self.files.values())).type
        return pa.chunked_array([self.files[path] for path in paths], kind)

    def create(self, *, rows_per_block: int = 0, budget: str | None = None) -> None:
        """Index the data files of the last version."""
        build_index(self, "k", self._read, rows_per_block=rows_per_block, budget=budget)

    def refresh(self) -> None:
        """Index the new data files of the last version."""
        refresh_index(self, "k", self._read)

    def index(self) -> Index:
        """Open the index."""
        access = without_engine()
        return Index(self, access.index_storage(self, "k", None), access=access)

    def _read(self, path: str) -> pa.Array:
        return self.files[path]
