"""Directories of Parquet files without an engine."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.errors import ErrorKind, LakesieveError, NotFoundError, UnsupportedError
from lakesieve.tables.contract import TableVersion
from lakesieve.tables.folder import FolderReader
from lakesieve.tables.identity import location_identity
from lakesieve.tables.parquet.schema import file_schema, partition_type
from lakesieve.tables.parquet.versions import version_of
from lakesieve.tables.paths import NULL_PARTITION, identified
from lakesieve.tables.struct_schema import READ_BY_DEFAULT, parquet_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from lakesieve.storage import ObjectInfo, StorageOptions
    from lakesieve.tables.contract import Column

__all__ = ["ParquetReader"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FOOTER = 1 << 16
_LARGEST_FOOTER = 1 << 28
_MAGIC = b"PAR1"


class ParquetReader(FolderReader):
    """One directory of Parquet files, listed and read as Spark does by default.

    A data file is known by its path, size and modification time.

    Args:
        name: As the user called it.
        location: The folder.
        options: The storage options of each location.

    Raises:
        NotFoundError: There are no files.
        UnsupportedError: The folders are not those of one table.
    """

    format = "parquet"

    def __init__(self, name: str, location: str, options: StorageOptions) -> None:
        super().__init__(name, location, options)
        self.uuid = location_identity(self.location)
        self._files: list[ObjectInfo] = []
        self._partitions: dict[str, list[str | None]] = {}
        self.reload()

    def reload(self) -> None:
        """List the files anew.

        Raises:
            NotFoundError: There are none.
            UnsupportedError: The folders are not those of one table.
        """
        seen = [info for info in self._storage.objects("") if _is_seen(info.path)]
        data = [info for info in seen if not _name(info.path).startswith(("_", "."))]
        if not data:
            raise NotFoundError(
                f"There are no Parquet files in {self.location}.",
                kind=ErrorKind.TABLE_NOT_FOUND,
                hint="Give the folder of a table that has files.",
            )
        folders = {info.path.rpartition("/")[0] for info in data}
        columns = {folder: _partition(folder) for folder in folders}
        names = {tuple(name for name, _ in values) for values in columns.values()}
        if len(names) > 1:
            raise UnsupportedError(
                f"The folders below {self.location} are partitioned in different ways.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Open the folder of one table, or read it with Spark.",
            )
        (chosen,) = names
        # without partitions Spark reads the folder alone, and none in it
        self._files = seen if chosen else [info for info in seen if "/" not in info.path]
        self._partitions = {
            name: [values[at][1] for values in columns.values()] for at, name in enumerate(chosen)
        }
        if not self._files:
            raise UnsupportedError(
                f"{self.location} has files in folders that are no partitions.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Give the folder that holds the files.",
            )

    def version(self, spec: str | int | None = None) -> TableVersion:
        """The files as they are listed now: there is no other version.

        Raises:
            NotFoundError: Another one was given.
            StorageError: The footer that has the schema cannot be read.
        """
        if spec is not None:
            raise NotFoundError(
                f"{self.name} has no version {spec!r}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="A directory of Parquet files has only the files that are in it now.",
            )
        self.reload()
        return TableVersion(id=version_of([self._identities()]), schema=self._document())

    def _identities(self) -> list[str]:
        return [f"{self.location}/{i.path}#{i.size}@{_millis(i)}" for i in self._files]

    def _document(self) -> str:
        """A schema as ``FileScans.java`` writes it."""
        summaries = ("_common_metadata", "_metadata")
        ordered = sorted(self._files, key=lambda info: f"{self.location}/{info.path}")
        named = [info for name in summaries for info in ordered if _name(info.path) == name]
        data = [info for info in ordered if _name(info.path) not in summaries]
        schema = file_schema(self._footer([*named, *data][0]))
        fields = schema["fields"]
        taken = {field["name"].lower() for field in fields}
        for name, values in self._partitions.items():
            kind = partition_type(values)
            column = {"name": name, "type": kind, "nullable": True, "metadata": {}}
            if name.lower() in taken:
                fields = [column if f["name"].lower() == name.lower() else f for f in fields]
            else:
                fields = [*fields, column]
        return json.dumps(
            {
                **READ_BY_DEFAULT,
                "partitioning": list(self._partitions),
                "schema": {"type": "struct", "fields": fields},
            }
        )

    def _footer(self, info: ObjectInfo) -> pq.FileMetaData:
        start = max(0, info.size - _FOOTER)
        try:
            tail = self._storage.get_range(info.path, start, info.size - start)
            if tail[-4:] != _MAGIC:
                raise pa.ArrowInvalid("it does not end as a Parquet file")
            length = int.from_bytes(tail[-8:-4], "little") + 8
            if length > min(info.size, _LARGEST_FOOTER):
                raise pa.ArrowInvalid("its footer is longer than the file")
            if length > len(tail):
                tail = self._storage.get_range(info.path, info.size - length, length)
            return pq.read_metadata(pa.BufferReader(_MAGIC + tail[-length:]))
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, LakesieveError):
                raise
            raise UnsupportedError(
                f"{self.location}/{info.path} has no schema that can be read: {error}.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Remove the file, or give the folder of a table.",
            ) from error

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """The columns, and the fields of structs outside lists and maps."""
        return parquet_columns(version.schema)

    def live_files(self, version: TableVersion) -> pa.Table:  # noqa: ARG002 - there is one version
        """The files; ``records`` is null, ``path`` has size and modification time behind it."""
        files = pa.table(
            {
                "path": pa.array(self._identities(), pa.string()),
                "size": pa.array([info.size for info in self._files], pa.int64()),
                "records": pa.nulls(len(self._files), pa.int64()),
                "location": pa.array(
                    [f"{self.location}/{info.path}" for info in self._files], pa.string()
                ),
                "modified": pa.array([_millis(info) for info in self._files], pa.int64()),
            }
        )
        return identified(files)

    def retained_files(self) -> pa.ChunkedArray:
        """The files that are there now."""
        return self.live_files(self.version()).column("path")

    def listed(self) -> Iterator[tuple[str, Mapping[str, str | None]]]:
        """The data files as they were listed last, in the order of :meth:`live_files`.

        Returns:
            Of each the path below the folder, and the values of partition columns as text.
        """
        for info in self._files:
            yield info.path, dict(_partition(info.path.rpartition("/")[0]))


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _is_seen(path: str) -> bool:
    """Whether Spark lists a file: hidden names, of folders as well, are left out."""
    return not any(_is_hidden(part) for part in path.split("/"))


def _is_hidden(name: str) -> bool:
    if name.startswith(("_common_metadata", "_metadata")):
        return False
    hidden = name.startswith(".") or (name.startswith("_") and "=" not in name)
    return hidden or name.endswith("._COPYING_")


def _partition(folder: str) -> list[tuple[str, str | None]]:
    """Partition columns and their values by the names of folders, the innermost ones."""
    found: list[tuple[str, str | None]] = []
    for part in reversed(folder.split("/") if folder else []):
        name, equals, value = part.partition("=")
        if not equals or not name or not value:
            if found:
                break
            continue
        decoded = unquote(value)
        found.append((unquote(name), None if decoded == NULL_PARTITION else decoded))
    return found[::-1]


def _millis(info: ObjectInfo) -> int:
    return (info.modified - _EPOCH) // timedelta(milliseconds=1)
