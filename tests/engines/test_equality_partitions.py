"""Which equality deletes belong to which data files, by partitions and specs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.typedef import Record

from lakesieve.engines.equality import EqualityDeletes
from lakesieve.engines.iceberg_columns import unpartitioned_specs

if TYPE_CHECKING:
    from pathlib import Path


def _file(path: str, spec_id: int, *partition: Any) -> Any:
    return SimpleNamespace(file_path=path, spec_id=spec_id, partition=Record(*partition))


def _entry(file: Any, sequence: int) -> Any:
    return SimpleNamespace(data_file=file, sequence_number=sequence)


def test_of_a_data_file() -> None:
    """Those that are newer, of its partition, of which NaN is one, or of a spec without any."""
    nan = _file("nan", 1, float("nan"))
    zero, minus = _file("zero", 1, 0.0), _file("minus", 1, -0.0)
    everywhere = _file("everywhere", 2, None)
    deletes = EqualityDeletes(
        entries=[_entry(one, 5) for one in (nan, zero, minus, everywhere)],
        sequences={"a": 4, "b": 5},
        unpartitioned=frozenset({2}),
    )

    def found(path: str, spec_id: int, value: Any) -> list[str]:
        return [one.file_path for one in deletes.of(_file(path, spec_id, value))]

    assert found("a", 1, float("nan")) == ["nan", "everywhere"]
    assert found("a", 1, 0.0) == ["zero", "everywhere"]
    assert found("a", 3, 0.0) == ["everywhere"]
    assert found("b", 1, 0.0) == []


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
