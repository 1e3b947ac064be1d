"""What stands in log files of Hudi, as far as it tells whether ``hudi`` merges them as Hudi does.

``docs/design/0018`` says what was tried, and what is left to Spark.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, UnsupportedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from lakesieve.tables.hudi.slices import FileSlice
    from lakesieve.tables.hudi.table import HudiReader

_MAGIC = b"#HUDI#"
_FORMAT = 1
_DELETE, _AVRO, _PARQUET = 1, 3, 5
_MERGED_BY_TIME = frozenset({"COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING"})
_FIRST_VERSION = 8


def check_mergeable(table: HudiReader, one: FileSlice, logs: Sequence[bytes]) -> None:
    """Check that a slice gives the same rows with and without Spark when it is merged.

    Raises:
        UnsupportedError: It is none of them.
    """
    why = _why_not(table.properties, one)
    try:
        for log in logs:
            for kind in _blocks(log):
                if kind not in {_DELETE, _AVRO, _PARQUET}:
                    why = why or f"a log file has a block of the unsupported type {kind}"
    except (struct.error, ValueError) as error:
        why = f"a log file is damaged: {error}"
    if why:
        raise UnsupportedError(
            f"{table.name}: the log files of {one.path} cannot be merged without Spark: {why}.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Compact the table, or read it with Spark.",
        )


def _why_not(settings: Mapping[str, str], one: FileSlice) -> str:
    version = int(settings.get("hoodie.table.version", "0"))
    mode = settings.get("hoodie.record.merge.mode", "none")
    if version < _FIRST_VERSION:
        return f"in table version {version}, log files may contain rows that were rolled back"
    if mode not in _MERGED_BY_TIME:
        return f"the table has the record merge mode {mode}"
    if settings.get("hoodie.populate.meta.fields", "true") != "true":
        return "the table does not store Hudi's meta fields, such as record keys"
    if one.base is None:
        return "the file slice has no base file"
    if one.is_bootstrapped:
        return "the file slice is bootstrapped: its rows are stored in another table"
    return ""


def _blocks(log: bytes) -> Iterator[int]:
    """The kind of each block of a log file."""
    at = 0
    while at < len(log):
        if log[at : at + len(_MAGIC)] != _MAGIC:
            raise ValueError("a block does not begin as one")
        at += len(_MAGIC)
        length, version, kind = struct.unpack_from(">qii", log, at)
        at += 8
        if version != _FORMAT or not 0 < length <= len(log) - at:
            raise ValueError("a block has no length")
        yield kind
        at += length
