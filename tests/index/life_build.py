"""What the model of an index's life indexes, and a build of it without Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from tests.index.life_table import COLUMNS
from tests.kit.building import write_segments

from lakesieve.sieve import Budget, KeyType
from lakesieve.spark.build.stages import IndexTask
from lakesieve.tables import TableVersion

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from tests.index.life_table import DataFile

    from lakesieve.format import IndexDefinition
    from lakesieve.store import Changes, IndexStore

ARROW = {"integer": pa.int64(), "string": pa.binary()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is indexed, and how.

    Args:
        columns: Names of the key columns.
        absent_hits: As the index's definition has it.
        budget: As well.
        exact: Whether a key that is there must find its own units and no other.
        rows_per_block: Rows of a block; 0 for whole data files.
    """

    columns: tuple[str, ...]
    absent_hits: float = 1 / 256
    budget: str = ""
    exact: bool = False
    rows_per_block: int = 0

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """The key columns, as predicates name them."""
        return [(name,) for name in self.columns]


def build(
    store: IndexStore,
    shape: Shape,
    definition: IndexDefinition,
    files: Sequence[DataFile],
    drawn: Random,
) -> Changes:
    """Run both stages of a build on some data files of the model."""
    listed = pa.table(
        {
            "path": pa.array([file.path for file in files], pa.string()),
            "size": pa.array([1] * len(files), pa.int64()),
            "records": pa.array([len(file.rows) for file in files], pa.int64()),
        }
    )
    rows = [(at, row) for at, file in enumerate(files) for row in file.rows]
    kinds = [COLUMNS[path].kind for path in shape.paths]
    keys = [
        pa.array([row[path] for _, row in rows], ARROW[kind])
        for path, kind in zip(shape.paths, kinds, strict=True)
    ]
    numbers = pa.array([at for at, _ in rows], pa.int64())
    rows_in_files = [at for file in files for at in range(len(file.rows))]
    positions = [pa.array(rows_in_files, pa.int64())] if definition.rows_per_block else []
    parts = [*keys, *positions, numbers]
    batch = pa.record_batch(parts, [str(at) for at in range(len(parts))])
    task = IndexTask(
        columns=tuple(range(len(keys))),
        key_types=tuple(KeyType(kind=kind) for kind in kinds),
        boundaries=_boundaries(keys, drawn),
        storage=store.storage,
        absent_hits=definition.absent_hits,
        budget=Budget.parse(definition.budget) if definition.budget else None,
        unit=definition.unit,
    )
    written = write_segments(listed, [batch.slice(0, 20), batch.slice(20)], task)
    version = TableVersion(id=None, schema="")
    return written.changes(store.storage, definition, version, "refresh")


def _boundaries(keys: Sequence[pa.Array], drawn: Random) -> tuple[int | bytes, ...]:
    """Now and then two or three segments instead of one."""
    if len(keys) > 1 or drawn.random() < 0.5:
        return ()
    codes = sorted(set(keys[0].drop_null().to_pylist()))
    return tuple(sorted(drawn.sample(codes, min(len(codes), 2))))
