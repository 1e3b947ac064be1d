"""A toy table format: versions are CSV files that list Parquet files, as CONTRIBUTING has it added.

``vN.csv`` lists the data files of version N, ``schema.json`` names the columns and their types.
"""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from lakesieve.engines import engine_scans
from lakesieve.engines.engine_scans import FilePruner
from lakesieve.errors import ErrorKind, NotFoundError
from lakesieve.tables import Column, TableVersion
from lakesieve.tables.folder import FolderReader
from lakesieve.tables.formats import TableFormat
from lakesieve.tables.identity import location_identity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path

    from lakesieve.index import KeepTree
    from lakesieve.predicate import Expr
    from lakesieve.storage import StorageOptions

TYPES = {"long": pa.int64(), "time": pa.time64("us"), "text": pa.string()}
KINDS = {"long": "integer", "time": "time", "text": "string"}


def columns_of(schema: str) -> Mapping[tuple[str, ...], Column]:
    """Read the columns of a schema document."""
    types: dict[str, str] = json.loads(schema)
    return {
        (name,): Column(path=(name,), field_id=at, type=kind, kind=KINDS[kind])
        for at, (name, kind) in enumerate(types.items())
    }


class ListedReader(FolderReader):
    """One table."""

    format = "listed"

    def __init__(self, name: str, location: str, options: StorageOptions) -> None:
        super().__init__(name, location, options)
        self.uuid = location_identity(self.location)
        self.reload()

    def reload(self) -> None:
        """List the versions anew."""
        names = [info.path for info in self.storage.objects("") if info.path.endswith(".csv")]
        self._versions = sorted(names, key=lambda name: int(name[1:-4]))
        if not self._versions:
            raise NotFoundError(f"{self.name} is no table.", kind=ErrorKind.TABLE_NOT_FOUND)

    def version(self, spec: str | int | None = None) -> TableVersion:
        """Return the last version, or one by its number."""
        self.reload()
        name = self._versions[-1] if spec is None else f"v{spec}.csv"
        if name not in self._versions:
            raise NotFoundError(f"There is no {name}.", kind=ErrorKind.VERSION_NOT_FOUND)
        return TableVersion(id=name[1:-4], schema=self.storage.get("schema.json").decode())

    def columns(self, version: TableVersion) -> Mapping[tuple[str, ...], Column]:
        """Return the columns."""
        return columns_of(version.schema)

    def live_files(self, version: TableVersion) -> pa.Table:
        """Return the data files that a version lists."""
        listed = self.storage.get(f"v{version.id}.csv").decode()
        rows = list(csv.reader(io.StringIO(listed)))
        return pa.table(
            {
                "path": pa.array([f"{self.location}/{name}" for name, _, _ in rows]),
                "size": pa.array([int(size) for _, size, _ in rows], pa.int64()),
                "records": pa.array([int(records) for _, _, records in rows], pa.int64()),
            }
        )

    def retained_files(self) -> pa.ChunkedArray:
        """Return the data files of all versions."""
        every = [self.live_files(self.version(name[1:-4])) for name in self._versions]
        return pa.concat_tables(every).column("path").unique()


class ListedRows:
    """Rows of a version, for engines."""

    def __init__(
        self, table: ListedReader, version: str | int | None, locations: Iterable[str]
    ) -> None:
        self._table = table
        self._version = table.version(version)
        self._pruner = FilePruner(locations)
        types: dict[str, str] = json.loads(self._version.schema)
        self.schema = pa.schema({name: TYPES[kind] for name, kind in types.items()})

    def batches(
        self,
        wanted: Expr | KeepTree,
        columns: Collection[str] | None = None,
        *,
        in_turn: bool = False,
    ) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
        """Read the data files that can hold a row that is wanted, always in turn."""
        del in_turn
        names = [name for name in self.schema.names if columns is None or name in columns]
        paths = self._table.live_files(self._version).column("path")
        pruned = self._pruner.of_table(self._table, self._table.columns(self._version), wanted)
        kept = paths.filter(pa.array(pruned.files_to_read(paths).keep)).to_pylist()
        engine_scans.remember([pruned])
        schema = pa.schema([self.schema.field(name) for name in names])
        tables = (pq.read_table(path.removeprefix("file:"), columns=names) for path in kept)
        return schema, (batch for table in tables for batch in table.cast(schema).to_batches())


LISTED = TableFormat(
    open=lambda name, location, options: ListedReader(name, location, options()),
    columns=columns_of,
)


def write_version(folder: Path, number: int, files: Mapping[str, pa.Table]) -> None:
    """Write the files of a version that are not there yet, and list all of its files."""
    lines = []
    for name, rows in files.items():
        if not (folder / name).exists():
            pq.write_table(rows, folder / name)
        lines.append(f"{name},{(folder / name).stat().st_size},{len(rows)}")
    by_type = {kind: name for name, kind in TYPES.items()}
    schema: dict[str, Any] = {field.name: by_type[field.type] for field in rows.schema}
    (folder / "schema.json").write_text(json.dumps(schema))
    (folder / f"v{number}.csv").write_text("\n".join(lines))
