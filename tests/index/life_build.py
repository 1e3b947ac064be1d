"""A build without Spark, by both stages of the real one, for the model of an index's life."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from tests.index.life_table import COLUMNS

from lakesieve.format import SegmentEntry, catalogue_id
from lakesieve.sieve import Budget, KeyType
from lakesieve.spark.build.stages import (
    CutPlan,
    KeyRuns,
    ScatterPlan,
    SegmentPlan,
    cut,
    scatter,
)
from lakesieve.spark.build.tally import collected
from lakesieve.store import Changes, stage_catalogue

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

    from tests.index.life_table import DataFile

    from lakesieve.format import IndexDefinition, SegmentEntry
    from lakesieve.store import IndexStore

ARROW = {"integer": pa.int64(), "string": pa.binary()}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is indexed, and how.

    Args:
        columns: Names of the key columns.
        absent_hits: As the index's definition has it.
        budget: As well.
        exact: Whether a key that is there must find its own files and no other.
    """

    columns: tuple[str, ...]
    absent_hits: float = 1 / 256
    budget: str = ""
    exact: bool = False

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """The key columns, as predicates name them."""
        return [(name,) for name in self.columns]


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Indexes data files of the model.

    Args:
        random: Draws where segments are cut.
        shape: What is indexed.
    """

    random: Random
    shape: Shape

    def build(
        self,
        store: IndexStore,
        definition: IndexDefinition,
        files: Sequence[DataFile],
        operation: str,
    ) -> Changes:
        """Run both stages of a build on some files."""
        result = pa.table(
            {
                "path": pa.array([file.path for file in files], pa.string()),
                "size": [1] * len(files),
                "records": [len(file.rows) for file in files],
            }
        )
        segments, tally = self._stages(
            store, definition, files, catalogue_id(result.column("path"))
        )
        assert tally[0].tolist() == result.column("records").to_pylist()
        result = result.append_column("has_null", pa.array(tally[1] > 0))
        result = result.append_column("has_value", pa.array(tally[0] > tally[1]))
        result = result.append_column("repeats", pa.array(tally[2] > 0))
        entry = stage_catalogue(store.storage, result, segments=segments, definition=definition)
        return Changes(
            operation=operation,
            add_catalogues=(entry,) if files else (),
            add_segments=segments,
        )

    def _stages(
        self,
        store: IndexStore,
        definition: IndexDefinition,
        files: Sequence[DataFile],
        catalogue: str,
    ) -> tuple[tuple[SegmentEntry, ...], np.ndarray]:
        rows = [(at, row) for at, file in enumerate(files) for row in file.rows]
        if not rows:
            return collected((), len(files))
        paths = self.shape.paths
        columns = [pa.array([row[p] for _, row in rows], ARROW[COLUMNS[p].kind]) for p in paths]
        hashes = pa.array([at for at, _ in rows], pa.int64())
        batch = pa.record_batch([*columns, hashes], [*self.shape.columns, "file"])
        runs = KeyRuns(
            columns=tuple(range(len(columns))),
            key_types=tuple(KeyType(kind=COLUMNS[path].kind) for path in paths),
            boundaries=self._boundaries(columns),
        )
        plan = ScatterPlan(
            runs=(runs,),
            hashes=np.arange(len(files)),
            ordinals=np.arange(len(files), dtype=np.int32),
        )
        of = SegmentPlan(
            storage=store.storage,
            tally_bucket=runs.tally_bucket,
            absent_hits=definition.absent_hits,
            budget=Budget.parse(definition.budget) if definition.budget else None,
        )
        cuts = CutPlan(segments=(of,), catalogue=catalogue, unit_count=len(files))
        written = cut(cuts)(scatter(plan)([batch.slice(0, 20), batch.slice(20)]))
        parts = ((out.column(1)[0].as_py(), out.column(2)[0].as_py()) for out in written)
        return collected(parts, len(files))

    def _boundaries(self, columns: Sequence[pa.Array]) -> tuple[int | bytes, ...]:
        """Now and then two or three segments instead of one."""
        if len(columns) > 1 or self.random.random() < 0.5:
            return ()
        codes = sorted(set(columns[0].drop_null().to_pylist()))
        return tuple(sorted(self.random.sample(codes, min(len(codes), 2))))
