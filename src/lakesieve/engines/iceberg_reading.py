"""PyIceberg's reader, with what it lacks: INT96 times, columns of unknown types, errors by name."""

from __future__ import annotations

import re
from contextlib import contextmanager
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from pyiceberg.io import pyarrow as reader
from pyiceberg.manifest import FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadataUtil

from lakesieve.engines.field_ids import names_by_id
from lakesieve.engines.wanted_rows import WantedRows, groups_with_rows, row_group_ends
from lakesieve.errors import ErrorKind, LakesieveError, StorageError, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyiceberg.table import FileScanTask
    from pyiceberg.table.metadata import TableMetadata

_UNKNOWN = "unknown"
# types of version 3 that PyIceberg does not know; the last two may have parameters
_UNREAD = re.compile(r"variant|(geometry|geography)(\(.*\))?", re.DOTALL)


@contextmanager
def named_errors(table: str) -> Iterator[None]:
    """Say as one of lakesieve's errors what PyIceberg or Arrow cannot read.

    Raises:
        StorageError: A file is missing or cannot be reached.
        UnsupportedError: Anything else.
    """
    try:
        yield
    except LakesieveError:
        raise
    except Exception as error:  # both have errors of many kinds
        first = str(error).strip().partition("\n")[0]
        what = f"{table} cannot be read by PyIceberg: {type(error).__name__}: {first}"
        if isinstance(error, OSError):
            raise StorageError(
                what,
                kind=ErrorKind.STORAGE_FAILED,
                hint="Check the files and the credentials of the table.",
            ) from error
        raise UnsupportedError(
            what,
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Read the table with Spark, or with a newer PyIceberg.",
        ) from error


def parsed_metadata(document: Mapping[str, Any], table: str) -> TableMetadata:
    """The metadata of a table as PyIceberg has it, columns of unknown types among them.

    Raises:
        UnsupportedError: PyIceberg cannot parse it.
    """
    with named_errors(table):
        known = dict(document)
        if "schema" in known:
            known["schema"] = _readable(known["schema"])
        if "schemas" in known:
            known["schemas"] = [_readable(schema) for schema in known["schemas"]]
        return TableMetadataUtil.parse_obj(known)


def parsed_schema(document: Mapping[str, Any], table: str) -> Schema:
    """Return PyIceberg's schema of a table, with placeholders for columns of unknown types.

    Raises:
        UnsupportedError: PyIceberg cannot parse it.
    """
    with named_errors(table):
        return Schema.model_validate(_readable(document))


def unread_columns(document: Mapping[str, Any]) -> Mapping[str, str]:
    """The top-level columns that are or have a value of a type that PyIceberg does not know.

    Returns:
        The type by the name of the column.
    """
    found = {str(field["name"]): _unread_type(field["type"]) for field in document["fields"]}
    return {name: kind for name, kind in found.items() if kind}


def _unread_type(kind: Any) -> str:
    if isinstance(kind, str):
        return kind if _UNREAD.fullmatch(kind) else ""
    parts = [field["type"] for field in kind.get("fields", ())]
    parts += [kind[name] for name in ("element", "key", "value") if name in kind]
    return next(filter(None, map(_unread_type, parts)), "")


def _readable(node: Any) -> Any:
    """A schema or a type in which types that PyIceberg does not know are ``unknown``."""
    if isinstance(node, str):
        return _UNKNOWN if _UNREAD.fullmatch(node) else node
    known = dict(node)
    if "fields" in known:
        known["fields"] = [_readable_field(field) for field in known["fields"]]
    for name in ("element", "key", "value"):
        if name in known:
            known[name] = _readable(known[name])
    return known


def _readable_field(field: Mapping[str, Any]) -> dict[str, Any]:
    kind = _readable(field["type"])
    # a column of the type unknown is never required
    return {**field, "type": kind, **({"required": False} if kind == _UNKNOWN else {})}


def _file_format(file_format: FileFormat, **options: Any) -> ds.FileFormat:
    """PyIceberg's, which reads INT96 times as microseconds: as nanoseconds they wrap around."""
    if file_format == FileFormat.PARQUET:
        options["coerce_int96_timestamp_unit"] = "us"
    return reader._get_file_format(file_format, **options)


def _schema_of_file(schema: pa.Schema, *options: Any, **more: Any) -> Schema:
    """PyIceberg's, without the columns whose parts have no field ids, such as a VARIANT's."""
    if names_by_id(schema):
        schema = pa.schema(filter(_has_ids, schema), schema.metadata)
    return reader.pyarrow_to_schema(schema, *options, **more)


def _has_ids(field: pa.Field) -> bool:
    kind = field.type
    inner = [kind.field(at) for at in range(kind.num_fields)]
    if pa.types.is_map(kind):
        inner = [kind.key_field, kind.item_field]
    return bool(names_by_id([field])) and all(map(_has_ids, inner))


def _with_names(function: Any, **names: Any) -> Any:
    """A copy of a function that finds other functions under some names of its module."""
    found = {**function.__globals__, **names}
    code, defaults = function.__code__, function.__defaults__
    return FunctionType(code, found, function.__name__, defaults, function.__closure__)


def _reading_files(**names: Any) -> Any:
    """Return PyIceberg's reading of data files with some functions replaced."""
    replaced = {"_get_file_format": _file_format, "pyarrow_to_schema": _schema_of_file, **names}
    return _with_names(
        reader.ArrowScan._record_batches_from_scan_tasks_and_deletes,
        _task_to_record_batches=_with_names(reader._task_to_record_batches, **replaced),
    )


class FileScan(reader.ArrowScan):
    """PyIceberg's scan of some data files, with the changes that PyIceberg has no option for."""

    _record_batches_from_scan_tasks_and_deletes = _reading_files()


class RowGroupScan(FileScan):
    """PyIceberg's scan of one Parquet file, which reads only row groups with a wanted row."""

    def __init__(self, wanted: WantedRows, *options: Any) -> None:
        super().__init__(*options)
        groups = _RowGroups(wanted)
        self._read = _reading_files(
            _get_file_format=groups.file_format, _combine_positional_deletes=groups.alive
        )

    def _record_batches_from_scan_tasks_and_deletes(self, *options: Any, **more: Any) -> Any:
        return self._read(self, *options, **more)


class _RowGroups:
    """The row groups of one data file that hold a wanted row."""

    def __init__(self, wanted: WantedRows) -> None:
        self._wanted = wanted
        self._positions = np.zeros(0, np.int64)

    def file_format(self, file_format: FileFormat, **options: Any) -> _RowGroups:
        """Return what opens the file in place of Arrow's format."""
        self._format = _file_format(file_format, **options)
        return self

    def make_fragment(self, opened: Any) -> ds.Fragment:
        """Return the wanted row groups of the file."""
        fragment = self._format.make_fragment(opened)
        ends = row_group_ends(fragment.metadata)
        groups = groups_with_rows(self._wanted, ends)
        read = WantedRows(np.concatenate(([0], ends))[groups], ends[groups])
        self._positions = read.positions(read.count())
        return fragment.subset(row_group_ids=groups.tolist())

    def alive(self, deletes: list[pa.ChunkedArray], start: int, end: int) -> pa.Array:
        """Return which of the rows that were read as ``start`` to ``end`` are not deleted."""
        gone = np.concatenate([positions.to_numpy() for positions in deletes])
        return pa.array(np.flatnonzero(~np.isin(self._positions[start:end], gone)))


def deleted_positions(io: Any, tasks: Iterable[FileScanTask]) -> dict[str, list[pa.ChunkedArray]]:
    """Return the positions of the rows that delete files delete, by the path of the data file."""
    positions: dict[str, list[pa.ChunkedArray]] = reader._read_all_delete_files(io, tasks)
    return positions
