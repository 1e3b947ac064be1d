"""Run the tutorial and the notebooks, and store what they print.

``python tools/record_outputs.py [FILE...]`` runs each in an empty folder and a process of its own,
with the Python that runs this tool. Tests compare what is stored (``tests/doc_outputs.py``).
"""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
TUTORIAL = ROOT / "docs" / "tutorial.md"
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
OUTPUTS = ROOT / "tests" / "doc_outputs.py"
# what stands for the folder of a run
FOLDER = "/tmp/tutorial"


def record_page(page: Path) -> None:
    """Write what each Python block of the page prints into the text block below it."""
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, str(OUTPUTS), str(page)],
            cwd=folder,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
    # the folder of this run, under a name that a reader could choose
    shown = done.stdout.splitlines()[-1].replace(os.path.realpath(folder), FOLDER)
    printed = iter(json.loads(shown))

    def with_output(block: Any) -> str:
        output = "\n".join(line.rstrip() for line in next(printed).strip("\n").splitlines())
        code = f"```python\n{block['code']}```\n"
        return f"{code}\n```text\n{output}\n```\n" if output else code

    pattern = runpy.run_path(str(OUTPUTS))["PYTHON_WITH_OUTPUT"]
    page.write_text(pattern.sub(with_output, page.read_text(encoding="utf-8")), encoding="utf-8")


def record_notebook(path: Path) -> None:
    """Run a notebook and store its outputs, without times and without what went to stderr."""
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        NotebookClient(
            notebook,
            timeout=600,
            resources={"metadata": {"path": folder}},
            kernel_name="python3",
            record_timing=False,
        ).execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.execution_count = None
            cell.outputs = [o for o in map(_lasting, cell.outputs) if o]
    notebook.metadata.language_info = {"name": "python"}
    written: str = nbformat.writes(notebook)  # type: ignore[no-untyped-call]
    path.write_text(written.replace(os.path.realpath(folder), FOLDER) + "\n", encoding="utf-8")


def _lasting(output: Any) -> Any:
    """Return an output without what Spark says while it starts; nothing if that was all."""
    if output.output_type == "execute_result":
        output.execution_count = None
        return output
    lines = output.get("text", "").splitlines(keepends=True)
    output["text"] = "".join(line for line in lines if not line.startswith(":: "))
    return output if output["name"] == "stdout" and output["text"].strip() else None


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen = [Path(name).resolve() for name in sys.argv[1:]] or [TUTORIAL, *NOTEBOOKS]
    for one in chosen:
        (record_page if one.suffix == ".md" else record_notebook)(one)
