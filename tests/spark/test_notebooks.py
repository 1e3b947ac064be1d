"""The notebooks run from first to last, each in a kernel and a session of its own."""

from __future__ import annotations

import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an error, and with what people look at: tables, not representations of objects."""
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    notebook = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    assert all(not cell.get("outputs") for cell in notebook.cells)
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


def test_there_are_two() -> None:
    """First steps, and what changes rows."""
    assert [path.stem for path in NOTEBOOKS] == ["first-steps", "upserts-and-erasure"]
