"""Which equality deletes belong to which data files, by partitions and specs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

from lakesieve.tables.iceberg.delete_files import DeleteIndex, unpartitioned_specs
from lakesieve.tables.iceberg.manifest_files import ListedFile, Manifest, manifest_files

if TYPE_CHECKING:
    from pathlib import Path


def _file(path: str, spec_id: int, value: Any, *, sequence: int, content: int = 0) -> ListedFile:
    manifest = Manifest.of({"manifest_path": "m.avro", "partition_spec_id": spec_id})
    file = {"file_path": path, "content": content, "partition": {"p": value}}
    entry = {"status": 1, "sequence_number": sequence, "data_file": file}
    return ListedFile(manifest_files(manifest, [entry]), 0)


def test_of_a_data_file() -> None:
    """Those that are newer, of its partition, of which NaN is one, or of a spec without any."""
    values = {"nan": float("nan"), "zero": 0.0, "minus": -0.0}
    deletes = [_file(name, 1, value, sequence=5, content=2) for name, value in values.items()]
    deletes.append(_file("everywhere", 2, None, sequence=5, content=2))
    index = DeleteIndex(deletes, unpartitioned=frozenset({2}), fields={})

    def found(sequence: int, spec_id: int, value: Any) -> set[str]:
        return {one.path for one in index.of(_file("x", spec_id, value, sequence=sequence))}

    assert found(4, 1, float("nan")) == {"nan", "everywhere"}
    assert found(4, 1, 0.0) == {"zero", "everywhere"}
    assert found(4, 3, 0.0) == {"everywhere"}
    assert found(5, 1, 0.0) == set()


def test_specs_without_partitions(tmp_path: Path) -> None:
    """A table of version 1 keeps the fields that were dropped."""
    catalog = SqlCatalog("shop", uri=f"sqlite:///{tmp_path}/c.db", warehouse=str(tmp_path))
    catalog.create_namespace("db")
    for version in ("1", "2"):
        table = catalog.create_table(
            f"db.t{version}",
            schema=pa.schema([("a", pa.int64())]),
            properties={"format-version": version},
        )
        with table.update_spec() as update:
            update.add_identity("a")
        with table.update_spec() as update:
            update.remove_field("a")
        last = table.spec()
        assert len(last.fields) == (1 if version == "1" else 0)
        partitioned = {spec.spec_id for spec in table.specs().values()}
        partitioned -= unpartitioned_specs(table.metadata)
        assert last.spec_id not in partitioned
        assert len(partitioned) == 1
