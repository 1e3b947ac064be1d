"""Directories of Parquet files without an engine."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Protocol

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from lakesieve.errors import ErrorKind, LakesieveError, NotFoundError, UnsupportedError
from lakesieve.tables.contract import TableVersion
from lakesieve.tables.folder import FolderReader
from lakesieve.tables.identity import check_identity, location_identity
from lakesieve.tables.parquet.partitions import (
    partition_type,
    partition_value,
    partitioning_of,
)
from lakesieve.tables.parquet.schema import file_schema, repeated_name
from lakesieve.tables.parquet.statistics import parquet_statistics
from lakesieve.tables.paths import identified, table_root
from lakesieve.tables.statistics import unread_statistics
from lakesieve.tables.struct_schema import READ_BY_DEFAULT, parquet_columns, spark_field

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from lakesieve.storage import ObjectInfo, StorageOptions
    from lakesieve.tables.contract import Column
    from lakesieve.tables.statistics import FileStatistics

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FOOTER = 1 << 16
_LARGEST_FOOTER = 1 << 28
_MAGIC = b"PAR1"
_VERSION_BYTES = 8


class ParquetSession(Protocol):
    """How an engine's session lists and reads a directory, with its settings and its catalog."""

    is_named: bool
    """True if the table is in a catalog, where a partition may be in any folder."""

    def location(self) -> str:
        """List the files anew.

        Return the folder to which the table's name leads, or an empty text.
        """

    def files(self) -> pa.Table:
        """Return the files as listed last.

        ``location`` is the session's spelling, ``size`` is in bytes, ``modified`` in milliseconds.
        """

    def document(self) -> str:
        """Return the schema of the files listed last, as ``SchemaDocument.java`` writes it."""


class ParquetReader(FolderReader):
    """One directory of Parquet files.

    A data file is identified by path, size and modification time. So a file that was rewritten in
    place is another file.

    Args:
        name: The name by which the user called it.
        location: The folder.
        options: Returns the storage options of a location.
        session: Lists the files and reads the columns. Without a session, both follow the defaults
            of sessions.

    Raises:
        NotFoundError: There are no files.
        UnsupportedError: The folders do not belong to one table.
    """

    format = "parquet"

    def __init__(
        self,
        name: str,
        location: str,
        options: StorageOptions,
        session: ParquetSession | None = None,
    ) -> None:
        super().__init__(name, location, options, spelled=location if session else None)
        self.uuid = location_identity(table_root(self.location))
        self._session = session
        self._files: list[ObjectInfo] = []
        self._partitioning: tuple[str, ...] = ()
        self._partitions: Mapping[str, tuple[str, ...]] = {}
        if session is None:
            self._list()

    def without_session(self) -> ParquetReader:
        """Return a reader that lists the table's folder without a session.

        Raises:
            UnsupportedError: Only the session's catalog knows the columns of the table.
        """
        if self._session is None:
            return self
        if self._session.is_named:
            raise UnsupportedError(
                f"Only the session's catalog knows the columns of {self.name}.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint=f"Query it with Spark, or open its folder: parquet:{self.location}.",
            )
        return ParquetReader(self.name, self.location, self._options)

    def reload(self) -> None:
        """List the files anew.

        Raises:
            NotFoundError: There are no files, or the table's name leads to another folder.
            UnsupportedError: The folders do not belong to one table.
        """
        if self._session is None:
            self._list()
        else:
            check_identity(self.name, self.location, self._session.location())

    def _list(self) -> None:
        visible = [info for info in self.storage.objects("") if _is_seen(info.path)]
        data = [info for info in visible if _is_data(info.path)]
        if not data:
            raise NotFoundError(
                f"No Parquet files exist in {self.location}.",
                kind=ErrorKind.TABLE_NOT_FOUND,
                hint="Give the folder of a table with Parquet files.",
            )
        folders = {info.path.rpartition("/")[0] for info in data}
        self._partitioning, self._partitions = partitioning_of(folders, self.location)
        # without partitions, Spark reads the files of this folder only, not of folders inside it
        self._files = visible if self._partitioning else [i for i in visible if "/" not in i.path]
        if not self._files:
            raise UnsupportedError(
                f"{self.location} has files only in folders that are not partitions.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Give the folder that contains the files.",
            )

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Return the files as they are listed now. There is no other version.

        Raises:
            NotFoundError: Another version was requested.
            StorageError: The footer of the file with the schema cannot be read.
        """
        if spec is not None:
            raise NotFoundError(
                f"{self.name} has no version {spec!r}.",
                kind=ErrorKind.VERSION_NOT_FOUND,
                hint="A directory of Parquet files has no versions, only its current files.",
            )
        self.reload()
        schema = self._session.document() if self._session else self._document()
        identities = self._identified_files().column("path")
        return TableVersion(id=version_of(identities.to_pylist()), schema=schema)

    def _identified_files(self) -> pa.Table:
        """Return the files of the last listing. Their ``path`` is ``LOCATION#SIZE@MODIFIED``."""
        files = self._session.files() if self._session else self._listed_files()
        size, modified = (files.column(name).cast(pa.string()) for name in ("size", "modified"))
        contents = pc.binary_join_element_wise(size, modified, "@")
        path = pc.binary_join_element_wise(files.column("location"), contents, "#")
        return files.append_column("path", path).append_column(
            "records", pa.nulls(files.num_rows, pa.int64())
        )

    def is_unchanged(self, path: str, identity: str) -> bool:
        """Return whether a file still has the size and modification time of its identity.

        Args:
            path: The path below the folder.
            identity: The path of the file as :meth:`live_files` returned it.
        """
        info = self.storage.head(path)
        return identity.endswith(f"#{info.size}@{_millis(info)}")

    def _listed_files(self) -> pa.Table:
        return pa.table(
            {
                "location": pa.array(
                    [f"{self.location}/{i.path}" for i in self._files], pa.string()
                ),
                "size": pa.array([info.size for info in self._files], pa.int64()),
                "modified": pa.array([_millis(info) for info in self._files], pa.int64()),
            }
        )

    def _document(self) -> str:
        """Return a schema as ``SchemaDocument.java`` writes it, with the defaults of a session."""
        summaries = ("_common_metadata", "_metadata")
        ordered = sorted(self._files, key=lambda info: f"{self.location}/{info.path}")
        named = [info for name in summaries for info in ordered if _name(info.path) == name]
        data = [info for info in ordered if _name(info.path) not in summaries and info.size]
        first = next(iter([*named, *data]), None)
        if first is None:
            raise UnsupportedError(
                f"All files in {self.location} are empty.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Give the folder of a table with non-empty files.",
            )
        schema = file_schema(self._footer(first))
        fields = schema["fields"]
        self._check_names(fields)
        names = {field["name"].lower() for field in fields}
        for name, kind in self._partition_types().items():
            column = spark_field(name, kind)
            if name.lower() in names:
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
                f"The files in {self.location} have two columns with the name {repeated}.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Rename one of them. Spark does not read such files either.",
            )

    def _partition_types(self) -> dict[str, str]:
        """Return the type of each partition column."""
        folders = self._partitions.values()
        return {
            name: partition_type([values[at] for values in folders])
            for at, name in enumerate(self._partitioning)
        }

    def _footer(self, info: ObjectInfo) -> pq.FileMetaData:
        start = max(0, info.size - _FOOTER)
        try:
            tail = self.storage.get_range(info.path, start, info.size - start)
            if tail[-4:] != _MAGIC:
                raise pa.ArrowInvalid("it does not end like a Parquet file")
            length = int.from_bytes(tail[-8:-4], "little") + 8
            if length > min(info.size, _LARGEST_FOOTER):
                raise pa.ArrowInvalid("its footer is longer than the file")
            if length > len(tail):
                tail = self.storage.get_range(info.path, info.size - length, length)
            return pq.read_metadata(pa.BufferReader(_MAGIC + tail[-length:]))
        except (pa.ArrowException, OSError) as error:
            if isinstance(error, LakesieveError):
                raise
            raise UnsupportedError(
                f"{self.location}/{info.path} has no readable schema: {error}.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Remove the file, or give the folder of a table.",
            ) from error

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """Return the columns and the struct fields, except fields inside lists and maps."""
        return parquet_columns(version.schema)

    def live_files(self, version: TableVersion) -> pa.Table:  # noqa: ARG002 - there is one version
        """Return the files. ``records`` is null; ``path`` ends with size and modification time."""
        return identified(self._identified_files())

    def has_row_deletes(self, version: TableVersion) -> bool:  # noqa: ARG002 - of no version
        """Return false: such tables have no row-level deletes."""
        return False

    def file_statistics(self, version: TableVersion) -> FileStatistics | None:
        """Return the partition values in the names of folders, see :class:`HasFileStatistics`."""
        is_named = self._session is not None and self._session.is_named
        if is_named and json.loads(version.schema)["partitioning"]:
            return unread_statistics("the catalog's partitions are not read")
        return parquet_statistics(version.schema, self.location, self.live_files(version))

    def retained_files(self) -> pa.ChunkedArray:
        """Return the current files."""
        return self.live_files(self.version()).column("path")

    def listed(self) -> Iterator[tuple[str, Mapping[str, pa.Scalar | str] | None]]:
        """Yield the data files as listed last, in the order of :meth:`live_files`.

        Returns:
            For each file, its path below the folder and the values of its partition columns. A
            timestamp is a text. The values are ``None`` for a file of which Spark reads no rows: it
            is empty, it is a summary, or it is not in a partition's folder.

        Raises:
            UnsupportedError: A value does not have the type that all values of its column have.
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


def version_of(identities: Iterable[str]) -> str | None:
    """Return a name for a set of files, in any order; ``None`` without files."""
    total, count = 0, 0
    for identity in identities:
        digest = hashlib.sha256(identity.encode()).digest()
        total += int.from_bytes(digest[:_VERSION_BYTES], "big")
        count += 1
    return f"{total % (1 << 8 * _VERSION_BYTES):0{2 * _VERSION_BYTES}x}" if count else None


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _is_data(path: str) -> bool:
    """Return whether a file has rows, like Spark's ``isDataPath``: summaries have none."""
    return not _is_marked(_name(path))


def _is_seen(path: str) -> bool:
    """Return whether Spark lists a file. It skips hidden names, also of folders."""
    return not any(_is_hidden(part) for part in path.split("/"))


def _is_hidden(name: str) -> bool:
    if name.startswith(("_common_metadata", "_metadata")):
        return False
    return _is_marked(name) or name.endswith("._COPYING_")


def _is_marked(name: str) -> bool:
    """Return whether a name begins with a dot, or with an underscore without being a partition."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _millis(info: ObjectInfo) -> int:
    return (info.modified - _EPOCH) // timedelta(milliseconds=1)
