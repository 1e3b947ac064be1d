"""An Iceberg table that is written by PyIceberg, with deletes that PyIceberg does not write."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestWriterV2,
    write_manifest_list,
)
from pyiceberg.typedef import Record

from lakesieve.engines import arrow

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["SCHEMA", "Table"]

SCHEMA = pa.schema([("k", pa.int64()), ("s", pa.string()), ("r", pa.float64()), ("p", pa.int32())])


class _DeleteWriter(ManifestWriterV2):
    """A manifest of delete files, which PyIceberg itself does not write."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


class Table:
    """A table whose metadata file is written anew with each commit of deletes.

    Args:
        folder: Where it is.
        schema: Its columns.
        partitioned: Whether it is partitioned by ``p``.
    """

    def __init__(
        self, folder: Path, schema: pa.Schema = SCHEMA, *, partitioned: bool = False
    ) -> None:
        self.folder = folder
        uri = f"sqlite:///{folder}/c.db"
        catalog = SqlCatalog("c", uri=uri, warehouse=str(folder / "d"))
        catalog.create_namespace("db")
        self._schema = schema
        self.iceberg = catalog.create_table("db.t", schema=schema)
        if partitioned:
            with self.iceberg.update_spec() as update:
                update.add_identity("p")
        self._numbers = itertools.count(1)

    def append(self, *rows: tuple[Any, ...]) -> None:
        columns = list(zip(*rows, strict=True))
        self.iceberg.append(pa.table(dict(zip(SCHEMA.names, columns, strict=True)), schema=SCHEMA))

    def delete(
        self, columns: list[str], keys: list[tuple[Any, ...]], partition: int | None = None
    ) -> None:
        """Commit a delete file of some columns' values."""
        number = next(self._numbers)
        metadata: Any = self.iceberg.metadata
        ids = [metadata.schema().find_field(name).field_id for name in columns]
        fields = [
            self._schema.field(name).with_metadata({"PARQUET:field_id": str(field_id)})
            for name, field_id in zip(columns, ids, strict=True)
        ]
        arrays = [pa.array([key[at] for key in keys], f.type) for at, f in enumerate(fields)]
        path = f"{self.folder}/delete-{number}.parquet"
        pq.write_table(pa.table(arrays, schema=pa.schema(fields)), path)
        file = DataFile.from_args(
            content=DataFileContent.EQUALITY_DELETES,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=Record(partition) if partition is not None else Record(),
            record_count=len(keys),
            file_size_in_bytes=1,
            equality_ids=ids,
        )
        self._commit(file, number)

    def delete_positions(self, positions: Mapping[str, Sequence[int]]) -> None:
        """Commit a delete file of positions of rows, by the path of their data file."""
        number = next(self._numbers)
        pairs = [(path, at) for path, of in sorted(positions.items()) for at in sorted(of)]
        fields = {"file_path": (pa.string(), 2147483546), "pos": (pa.int64(), 2147483545)}
        schema = pa.schema(
            pa.field(name, kind, nullable=False, metadata={"PARQUET:field_id": str(field_id)})
            for name, (kind, field_id) in fields.items()
        )
        arrays = [
            pa.array(values, f.type)
            for values, f in zip(zip(*pairs, strict=True), schema, strict=True)
        ]
        path = f"{self.folder}/delete-{number}.parquet"
        pq.write_table(pa.table(arrays, schema=schema), path)
        file = DataFile.from_args(
            content=DataFileContent.POSITION_DELETES,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=Record(),
            record_count=len(pairs),
            file_size_in_bytes=1,
        )
        self._commit(file, number)

    def _commit(self, file: DataFile, number: int) -> None:
        """Commit a delete file."""
        metadata: Any = self.iceberg.metadata
        io = self.iceberg.io
        snapshot = self.iceberg.current_snapshot()
        assert snapshot is not None
        file.spec_id = metadata.default_spec_id
        sequence, snapshot_id = metadata.last_sequence_number + 1, 1000 + number
        output = io.new_output(f"{self.folder}/manifest-{number}.avro")
        with _DeleteWriter(
            metadata.spec(), metadata.schema(), output, snapshot_id, "null"
        ) as writer:
            entry = ManifestEntry.from_args(
                status=ManifestEntryStatus.ADDED, snapshot_id=snapshot_id, data_file=file
            )
            writer.add_entry(entry)
            manifest = writer.to_manifest_file()
        listed = io.new_output(f"{self.folder}/list-{number}.avro")
        parent = snapshot.snapshot_id
        with write_manifest_list(2, listed, snapshot_id, parent, sequence, "null") as lists:
            lists.add_manifests([manifest, *snapshot.manifests(io)])
        document = json.loads(metadata.model_dump_json())
        made = {
            **document["snapshots"][-1],
            "snapshot-id": snapshot_id,
            "parent-snapshot-id": parent,
            "sequence-number": sequence,
            "manifest-list": listed.location,
        }
        document["snapshots"].append(made)
        document["current-snapshot-id"] = snapshot_id
        document["refs"]["main"]["snapshot-id"] = snapshot_id
        document["last-sequence-number"] = sequence
        self._publish(document)

    def _publish(self, document: dict[str, Any]) -> None:
        from pyiceberg.table.metadata import TableMetadataUtil

        self.iceberg.metadata = TableMetadataUtil.parse_obj(document)
        self.path = self.folder / "t.metadata.json"
        self.path.write_text(json.dumps(document))

    @property
    def name(self) -> str:
        return f"iceberg:{self.path}"

    def keys(self, **arguments: Any) -> list[Any]:
        found = arrow.dataset(self.name).to_table(columns=["k"], **arguments)
        return sorted(found.column("k").to_pylist(), key=repr)
