"""Rows of a Hudi table: base files by pyarrow, those with log files by ``hudi``."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa

from lakesieve.engines import engine_scans
from lakesieve.engines.file_rows import FileRows
from lakesieve.engines.hudi_logs import check_mergeable
from lakesieve.engines.spark_fields import rows_of_file, rows_of_table
from lakesieve.errors import ErrorKind, UnsupportedError, not_installed
from lakesieve.storage import open_object
from lakesieve.tables.hudi.table import HudiReader
from lakesieve.tables.paths import NULL_PARTITION

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lakesieve.engines.spark_fields import Field
    from lakesieve.engines.wanted_rows import WantedRows
    from lakesieve.index import KeepTree
    from lakesieve.predicate import Expr
    from lakesieve.tables.hudi.slices import FileSlice

_PLAIN_KEYS = frozenset({"SIMPLE", "SIMPLE_AVRO", "COMPLEX", "COMPLEX_AVRO"})
_KEY_GENERATOR = "org.apache.hudi.keygen."
_ENCODES = "hoodie.datasource.write.partitionpath.urlencode"
# Hudi makes a double of a float by way of its text
_WIDENS_FLOATS = False


class HudiRows(FileRows[HudiReader]):
    """Base files as they are, and log files merged with them.

    Args:
        table: The table.
        version: As its format names it; ``None`` is the current version.
        locations: Further roots to search for indexes.

    Raises:
        UnsupportedError: Its partition columns have other values than its data files.
    """

    def __init__(
        self, table: HudiReader, version: str | int | None, locations: Iterable[str]
    ) -> None:
        super().__init__(table, version, locations)
        generator = _key_generator(table.properties)
        if table.partitioning and generator not in _PLAIN_KEYS:
            raise UnsupportedError(
                f"{table.name}: its partition columns are not read without Spark.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint=f"Use Spark. Only the key generator {generator} knows their values.",
            )

    def _read(self, wanted: Expr | KeepTree, fields: list[Field]) -> Iterator[pa.RecordBatch]:
        pruned = self._pruner.of_table(self._table, self._columns, wanted)
        slices = self._table.slices(self._version)
        to_read = pruned.files_to_read(self._table.files_of(slices).column("path"))
        engine_scans.remember([pruned])
        for at, (one, is_exact) in enumerate(slices):
            if to_read.keep[at]:
                if is_exact:
                    rows = self._rows_of(one, fields, to_read.rows.get(at))
                else:
                    # log files are merged by key, with the whole base file
                    rows = self._merged(one, fields)
                yield from rows.to_batches()

    def _rows_of(self, one: FileSlice, fields: list[Field], wanted: WantedRows | None) -> pa.Table:
        with open_object(self._table.storage, one.path) as opened:
            partition = self._partition(one.partition)
            return rows_of_file(
                opened,
                fields,
                partition,
                self._partitioning,
                path=one.path,
                wanted=wanted,
                widens_floats=_WIDENS_FLOATS,
            )

    def _merged(self, one: FileSlice, fields: list[Field]) -> pa.Table:
        """The rows of a slice with its log files, copied to where ``hudi`` reads them."""
        name = self._table.name
        try:
            from hudi import HudiFileGroupReader
        except ImportError as error:
            need = f"Reading {name}, which has log files, takes hudi."
            raise not_installed(need, "hudi") from error
        storage, instant = self._table.storage, str(self._version.id)
        logs = [log for log in one.logs if log.instant <= instant]
        data = storage.get_all([log.info.path for log in logs])
        check_mergeable(self._table, one, data)
        base = one.path.rpartition("/")[2]
        names = [log.info.path.rpartition("/")[2] for log in logs]
        with tempfile.TemporaryDirectory(prefix="lakesieve-") as made:
            folder = Path(made)
            (folder / ".hoodie").mkdir()
            settings = storage.get(".hoodie/hoodie.properties")
            (folder / ".hoodie" / "hoodie.properties").write_bytes(settings)
            for file, content in zip(names, data, strict=True):
                (folder / file).write_bytes(content)
            with open_object(storage, one.path) as opened, (folder / base).open("wb") as copy:
                while part := opened.read(1 << 24):
                    copy.write(part)
            try:
                batch: Any = HudiFileGroupReader(made).read_file_slice_from_paths(base, names)
            except Exception as error:
                raise UnsupportedError(
                    f"{name}: hudi cannot merge the log files of {one.path}: {error}.",
                    kind=ErrorKind.UNSUPPORTED_TABLE,
                    hint="Compact the table, or read it with Spark.",
                ) from error
        partition = self._partition(one.partition)
        return rows_of_table(
            pa.table(batch), fields, partition, self._partitioning, widens_floats=_WIDENS_FLOATS
        )

    def _partition(self, folder: str) -> dict[str, str | None]:
        """Return the values of the partition columns, taken from folder names as Hudi does."""
        names, settings = self._table.partitioning, self._table.properties
        # the value of a single column may have slashes
        parts = folder.split("/") if len(names) > 1 else [folder]
        if names and len(parts) != len(names):
            raise UnsupportedError(
                f"{self._table.name}: the folder {folder} has {len(parts)} values for "
                f"{len(names)} columns.",
                kind=ErrorKind.UNSUPPORTED_TABLE,
                hint="Use Spark.",
            )
        found: dict[str, str | None] = {}
        for name, part in zip(names, parts, strict=False):
            text = part.removeprefix(f"{name}=")
            if settings.get(_ENCODES) == "true":
                text = unquote(text)
            found[name] = None if text == NULL_PARTITION else text
        return found


def _key_generator(settings: Mapping[str, str]) -> str:
    """The kind of the table's key generator, such as ``SIMPLE``."""
    kind = settings.get("hoodie.table.keygenerator.type")
    if kind is not None:
        return kind.upper()
    name = settings.get("hoodie.table.keygenerator.class", f"{_KEY_GENERATOR}SimpleKeyGenerator")
    return name.removeprefix(_KEY_GENERATOR).removesuffix("KeyGenerator").upper()
