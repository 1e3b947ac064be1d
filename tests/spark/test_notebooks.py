"""The notebooks print what is stored in them: here, and in depth in a kernel of its own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import nbformat
import pytest
from nbclient import NotebookClient
from tests.doc_outputs import comparable, printed_by, stored_text

import lakesieve as ls
from lakesieve.storage import local_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
END = "spark.stop()"


def test_there_are_two() -> None:
    """First steps, and changes of rows, stored with their outputs."""
    assert [path.stem for path in NOTEBOOKS] == ["first-steps", "upserts-and-erasure"]
    for path in NOTEBOOKS:
        assert sum(bool(cell.get("outputs")) for cell in _read(path).cells) > 4


# the commands of the other one are in docs/commands.md, too
@pytest.mark.in_time("first-steps")
@pytest.mark.usefixtures("by_default")
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_cells(
    spark: SparkSession, path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each cell prints what is stored, in the session of the tests."""
    warehouse = local_path(str(spark.conf.get("spark.sql.catalog.lake.warehouse")))
    (tmp_path / "warehouse").symlink_to(warehouse)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ls, "local_session", lambda _: spark)
    cells = [cell for cell in _read(path).cells if cell.cell_type == "code"]
    assert cells[-1].source.endswith(END)
    names: dict[str, object] = {}
    try:
        printed = [
            printed_by(cell.source.removesuffix(END), names, f"{path.name}, cell {number}")
            for number, cell in enumerate(cells)
        ]
    finally:
        ls.disable(spark)
        for table in ("lake.shop.orders", "lake.crm.people"):
            spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
    assert [comparable(text, str(warehouse)) for text in printed] == [
        comparable(stored_text(cell)) for cell in cells
    ]


@pytest.mark.soak
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_kernel(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A kernel prints what is stored, and shows tables instead of representations of objects."""
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    notebook, stored = _read(path), _read(path)
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
    printed = [[comparable(stored_text(cell)) for cell in n.cells] for n in (notebook, stored)]
    assert printed[0] == printed[1]
    assert len(shown) > 3
    assert all("text/html" in data for data in shown if "files" in data["text/plain"])


def _read(path: Path) -> nbformat.NotebookNode:
    found: nbformat.NotebookNode = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    return found
