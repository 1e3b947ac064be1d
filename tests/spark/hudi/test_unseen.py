"""Data files that the reader lists, but of which Spark read no row."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.tables.test_hudi_reader import Table, at, name

from lakesieve.errors import ErrorKind, LakesieveError
from lakesieve.spark.build.source import check_unseen

if TYPE_CHECKING:
    from pathlib import Path


def test_a_file_that_was_passed_over_is_an_error(tmp_path: Path) -> None:
    """An empty file has no keys, but a file with rows must have been read."""
    table = Table(tmp_path)
    table.commit(1)
    for group, rows in (("f", 3), ("g", 0)):
        table.base(group, 1)
        pq.write_table(pa.table({"k": list(range(rows))}), tmp_path / name(group, 1))
    reader = table.open()
    files = reader.live_files(reader.version(at(1)))
    is_full = np.array([name("f", 1) in path for path in files.column("path").to_pylist()])
    assert is_full.any()

    check_unseen(reader, files, is_full)
    with pytest.raises(LakesieveError) as caught:
        check_unseen(reader, files, np.zeros(len(files), bool))
    assert caught.value.kind is ErrorKind.BUILD_INCONSISTENT
