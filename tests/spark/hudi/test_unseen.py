"""Data files that the reader lists, but of which Spark read no row."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
    paths = files.column("path")
    full = pa.chunked_array([[f"file:{tmp_path}/{name('f', 1)}"]])

    check_unseen(reader, files, paths, full)
    with pytest.raises(LakesieveError) as caught:
        check_unseen(reader, files, paths, full.slice(1))
    assert caught.value.kind is ErrorKind.BUILD_INCONSISTENT
