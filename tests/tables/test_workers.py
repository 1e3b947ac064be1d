"""lakesieve's functions in Spark's Python workers."""

from __future__ import annotations

import importlib
import sys
import zipfile
from typing import TYPE_CHECKING
from zipimport import zipimporter

import pyarrow as pa
import pytest

from lakesieve.spark.tables.workers import forget_archives, gathered

if TYPE_CHECKING:
    from pathlib import Path


def test_archives_are_forgotten_and_found_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The directories of jars are not read again, but modules in them can still be imported."""
    jar = tmp_path / "some.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("module_in_a_jar.py", "value = 7")
        archive.writestr("another_in_a_jar.py", "value = 8")
    monkeypatch.syspath_prepend(jar)
    assert importlib.import_module("module_in_a_jar").value == 7
    assert str(jar) in sys.path_importer_cache
    others = {k for k, v in sys.path_importer_cache.items() if not isinstance(v, zipimporter)}

    forget_archives()

    assert set(sys.path_importer_cache) == others
    assert importlib.import_module("another_in_a_jar").value == 8


@pytest.mark.parametrize(
    ("sizes", "first", "expected"),
    [
        ([], None, []),
        ([0, 0], None, []),
        ([3, 2, 4, 1, 1], None, [5, 5, 1]),
        ([3, 2, 4, 1, 1], 1, [3, 6, 2]),
        ([12, 1], None, [12, 1]),
    ],
    ids=["none", "empty", "rest", "first sooner", "large"],
)
def test_small_batches_are_joined(sizes: list[int], first: int | None, expected: list[int]) -> None:
    """Every row comes once and in order, in tables of the wanted size."""
    rows = iter(range(sum(sizes)))
    batches = [
        pa.record_batch({"at": pa.array([next(rows) for _ in range(n)], pa.int64())}) for n in sizes
    ]

    tables = list(gathered(batches, 5, first))

    assert [table.num_rows for table in tables] == expected
    found = [at for table in tables for at in table["at"].to_pylist()]
    assert found == list(range(sum(sizes)))
