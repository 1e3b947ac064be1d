"""Minimum and maximum of data files from an index agree with the files themselves."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engines.tables import index_of

from lakesieve.advisor.estimate import BoundsOfFiles
from lakesieve.index import plan
from lakesieve.index.access import without_engine
from lakesieve.predicate.parse import parse_sql
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path

FILES = 12


def _values(drawn: random.Random, kind: str, file: int) -> list[Any]:
    """Draw one file's values: clustered, spread, extreme, and null."""
    near = [file * 1000 + drawn.randrange(1000) for _ in range(30)]
    numbers = near if file % 3 else [drawn.randrange(-(10**6), 10**6) for _ in range(30)]
    if file == 5:
        numbers = [2**63 - 1, -(2**63)]
    if file == 7:
        numbers = []
    values: list[Any] = [f"k{n:09}" for n in numbers] if kind == "text" else list(numbers)
    return [*values, None] if file % 2 else values


@pytest.mark.parametrize("kind", ["number", "text"])
def test_bounds(tmp_path: Path, kind: str) -> None:
    """No file that can match is missing, and ends lie before the next key of any file."""
    drawn = random.Random(kind)
    folder = tmp_path / "t"
    folder.mkdir()
    of = pa.string() if kind == "text" else pa.int64()
    files = [_values(drawn, kind, file) for file in range(FILES)]
    for file, values in enumerate(files):
        pq.write_table(pa.table({"k": pa.array(values, of)}), folder / f"{file:02}.parquet")
    table = open_table(f"parquet:{folder}")
    index_of(table, "k", covers=lambda _: True)
    store = without_engine().stores(table)["k"]
    state = store.snapshot()
    bounds = BoundsOfFiles(store, state)
    version = table.version()
    paths = table.live_files(version).column("path")
    order = np.argsort(np.array([path.rpartition("/")[2] for path in paths.to_pylist()]))
    known = sorted({value for values in files for value in values if value is not None})
    for _ in range(200):
        low, high = sorted(drawn.choices(known, k=2))
        written = [f"'{end}'" if kind == "text" else str(end) for end in (low, high)]
        text = drawn.choice(["k BETWEEN {0} AND {1}", "k >= {0} AND k < {1}", "k = {0}", "k > {1}"])
        condition = parse_sql(text.format(*written))
        planned = plan(table.columns(version), condition, [bounds], table.uuid, strict=True)
        keep = planned.plan.of(paths).keep[order]
        for values, kept in zip(files, keep.tolist(), strict=True):
            own = [value for value in values if value is not None]
            if not own:
                assert not kept
                continue
            first, last = min(own), max(own)
            spans = {
                "k BETWEEN {0} AND {1}": first <= high and last >= low,
                "k >= {0} AND k < {1}": first < high and last >= low and low < high,
                "k = {0}": first <= low <= last,
                "k > {1}": last > high,
            }
            # just behind the last key of a file, before the next one of any other, it may be kept
            behind = text == "k > {1}" and last == high
            assert kept == (spans[text] or (behind and kept)), (text, low, high, first, last)
