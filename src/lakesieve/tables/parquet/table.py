"""Directories of Parquet files without an engine."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.errors import ErrorKind, LakesieveError, NotFoundError, UnsupportedError
from lakesieve.tables.contract import TableVersion
from lakesieve.tables.folder import FolderReader
from lakesieve.tables.identity import location_identity
from lakesieve.tables.parquet.partitions import (
    partition_type,
    partition_value,
    partitioning_of,
)
from lakesieve.tables.parquet.schema import file_schema, repeated_name
from lakesieve.tables.parquet.statistics import parquet_statistics
from lakesieve.tables.parquet.versions import version_of
from lakesieve.tables.paths import identified
from lakesieve.tables.struct_schema import READ_BY_DEFAULT, parquet_columns

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakesieve.storage import ObjectInfo, StorageOptions
    from lakesieve.tables.contract import Column
    from lakesieve.tables.statistics import FileStatistics

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
        self._partitioning: tuple[str, ...] = ()
        self._partitions: Mapping[str, tuple[str, ...]] = {}
        self.reload()

    def reload(self) -> None:
        """List the files anew.

        Raises:
            NotFoundError: There are none.
            UnsupportedError: The folders are not those of one table.
        """
        seen = [info for info in self._storage.objects("") if _is_seen(info.path)]
        data = [info for info in seen if _is_data(info.path)]
        if not data:
            raise NotFoundError(
                f"There are no Parquet files in {self.location}.",
                kind=ErrorKind.TABLE_NOT_FOUND,
                hint="Give the folder of a table that has files.",
            )
        folders = {info.path.rpartition("/")[0] for info in data}
        self._partitioning, self._partitions = partitioning_of(folders, self.location)
        # without partitions Spark reads the folder alone, and none in it
        self._files = seen if self._partitioning else [i for i in seen if "/" not in i.path]
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
        """A schema as ``SchemaDocument.java`` writes it."""
        summaries = ("_common_metadata", "_metadata")
        ordered = sorted(self._files, key=lambda info: f"{self.location}/{info.path}")
        named = [info for name in summaries for info in ordered if _name(info.path) == name]
        data = [info for info in ordered if _name(info.path) not in summaries and info.size]
        first = next(iter([*named, *data]), None)
        if first is None:
            raise UnsupportedError(
                f"All files in {self.location} are empty.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Give the folder of a table that has files with rows.",
            )
        schema = file_schema(self._footer(first))
        fields = schema["fields"]
        self._check_names(fields)
        taken = {field["name"].lower() for field in fields}
        for name, kind in self._partition_types().items():
            column = {"name": name, "type": kind, "nullable": True, "metadata": {}}
            if name.lower() in taken:
                fields = [column if f["name"].lower() == name.lower() else f for f in fields]
            else:
                fields = [*fields, column]
        return json.dumps(
            {
                **READ_BY_DEFAULT,
                "partitioning": list(self._partitioning),
                "schema": {"type": "struct", "fields": fields},
            }
        )

    def _check_names(self, fields: Sequence[Mapping[str, Any]]) -> None:
        repeated = repeated_name(fields)
        if repeated is not None:
            raise UnsupportedError(
                f"The files in {self.location} have two columns of the name {repeated}.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Rename one of them; Spark does not read them either.",
            )

    def _partition_types(self) -> dict[str, str]:
        """The type of each partition column."""
        folders = self._partitions.values()
        return {
            name: partition_type([values[at] for values in folders])
            for at, name in enumerate(self._partitioning)
        }

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

    def file_statistics(self, version: TableVersion) -> FileStatistics | None:
        """The partition values in the names of folders, as :class:`HasFileStatistics` says."""
        return parquet_statistics(version.schema, self.location, self.live_files(version))

    def retained_files(self) -> pa.ChunkedArray:
        """The files that are there now."""
        return self.live_files(self.version()).column("path")

    def listed(self) -> Iterator[tuple[str, Mapping[str, pa.Scalar | str] | None]]:
        """The data files as they were listed last, in the order of :meth:`live_files`.

        Returns:
            Of each the path below the folder, and the values of partition columns; a timestamp is a
            text. Instead of the values there is ``None`` for a file of which Spark reads no rows:
            it is empty, a summary, or lies beside folders of partitions.

        Raises:
            UnsupportedError: A value is not of the type that all values of its column have.
        """
        types = self._partition_types()
        by_folder = {
            folder: {
                name: partition_value(value, types[name], name)
                for name, value in zip(self._partitioning, values, strict=True)
            }
            for folder, values in self._partitions.items()
        }
        nowhere: Mapping[str, pa.Scalar | str] | None = None if self._partitioning else {}
        for info in self._files:
            folder = info.path.rpartition("/")[0]
            has_rows = info.size and _is_data(info.path)
            yield info.path, by_folder.get(folder, nowhere) if has_rows else None


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _is_data(path: str) -> bool:
    """True for a file with rows, false for a summary of other files: Spark's ``isDataPath``."""
    return not _is_marked(_name(path))


def _is_seen(path: str) -> bool:
    """Whether Spark lists a file: hidden names, of folders as well, are left out."""
    return not any(_is_hidden(part) for part in path.split("/"))


def _is_hidden(name: str) -> bool:
    if name.startswith(("_common_metadata", "_metadata")):
        return False
    return _is_marked(name) or name.endswith("._COPYING_")


def _is_marked(name: str) -> bool:
    """True for a name that begins with a dot, or with an underscore and is no partition."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _millis(info: ObjectInfo) -> int:
    return (info.modified - _EPOCH) // timedelta(milliseconds=1)
