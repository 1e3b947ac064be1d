"""The notebooks run from first to last: their cells here, in depth each in a kernel of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbclient import NotebookClient

import lakesieve as ls
from lakesieve.storage import local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
END = "spark.stop()"


def test_there_are_two() -> None:
    """There are two notebooks, stored without their output."""
    assert [path.stem for path in NOTEBOOKS] == ["first-steps", "upserts-and-erasure"]
    for path in NOTEBOOKS:
        assert not any(cell.get("outputs") for cell in _read(path).cells)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells(
    spark: SparkSession, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All cells run in the session of the tests."""
    warehouse = local_path(str(spark.conf.get("spark.sql.catalog.lake.warehouse")))
    (tmp_path / "warehouse").symlink_to(warehouse)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ls, "local_session", lambda _: spark)
    cells = [cell.source for cell in _read(path).cells if cell.cell_type == "code"]
    assert cells[-1].endswith(END)
    names: dict[str, object] = {}
    try:
        for number, text in enumerate(cells):
            exec(compile(text.removesuffix(END), f"{path.name}, cell {number}", "exec"), names)
    finally:
        ls.disable(spark)
        for table in ("lake.shop.orders", "lake.crm.people"):
            spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")


@pytest.mark.soak
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_kernel(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All cells run in a kernel without an error, and show tables."""
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    notebook = _read(path)
    client = NotebookClient(
        notebook,
        timeout=240,
        resources={"metadata": {"path": str(tmp_path)}},
        kernel_name="python3",
    )
    client.execute()
    shown = [
        output.data
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.output_type == "execute_result"
    ]
    assert len(shown) > 3
    assert all("text/html" in data for data in shown if "files" in data["text/plain"])


def _read(path: Path) -> nbformat.NotebookNode:
    found: nbformat.NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return found
