"""A sample of the keys of an index shows in how many data files a key is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.engines.tables import index_of

from lakesieve.index import OpenedIndex
from lakesieve.index.access import without_engine
from lakesieve.index.overview import key_layout
from lakesieve.tables.opening import open_table

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("text", ["user{}@x.org", "user{:05}", "{}"])
def test_each_text_is_in_one_file(tmp_path: Path, text: str) -> None:
    """Texts that are in one file each are in one file on average, although the index cuts them."""
    numbers = np.random.default_rng(1).permutation(1600)
    for file, part in enumerate(np.split(numbers, 8)):
        texts = [text.format(number) for number in part]
        pq.write_table(pa.table({"key": texts}), tmp_path / f"{file}.parquet")
    table = open_table(f"parquet:{tmp_path}")
    index_of(table, "key", covers=lambda _: True)
    (store,) = without_engine().stores(table).values()

    layout = key_layout(OpenedIndex.at(store, store.snapshot()), np.ones(8, bool))

    assert layout is not None
    assert (layout.files, layout.kept) == (8, 1.0)
