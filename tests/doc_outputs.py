"""What code blocks and cells of notebooks print, and how it is compared with what is stored.

``python tests/doc_outputs.py PAGE`` runs the blocks of a page one after the other and writes what
each printed as JSON. It needs nothing but what the blocks import, so that an installed wheel can be
tried with it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PYTHON_WITH_OUTPUT", "comparable", "expected_of", "printed_by", "stored_text"]

PYTHON_WITH_OUTPUT = re.compile(
    r"^```python\n(?P<code>.*?)^```\n(?:\n```text\n(?P<output>.*?)^```\n)?",
    re.DOTALL | re.MULTILINE,
)
# what differs from run to run, and from machine to machine
VARYING = (
    (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.\d]*(?:Z|\+00:00)?", "TIMESTAMP"),
    (r"\b\d(?:[\d.,]*\d)? ?(?:µs|ms|s|min|h)\b", "TIME"),
    (r"\b\d(?:[\d.,]*\d)? ?(?:bytes|B|kB|MB|GB)\b", "SIZE"),
    (r"\b[\d.,]+ bits\b", "BITS"),
    (r"\b[\d.,]+ in \d+ segments?\b", "BLOCKS"),
    (r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID"),
    (r"\b[0-9a-f]{32,64}\b", "HASH"),
    (r"\b\d{5}-\d+-UUID-[\d-]+\.parquet", "FILE.parquet"),
    (r"\b(bytes|blocks|segments|bits_per_row|seconds)=[\d.]+", r"\1=NUMBER"),
    (r"\b\d{15,19}\b", "SNAPSHOT"),
    (r"(?:file:)?/[\w./ -]*?/warehouse\b", "warehouse"),
    # columns of tables are as wide as their widest cell
    (r"[─-╿+|-]{2,}|[ \t]+", " "),
)


def comparable(text: str, warehouse: str = "") -> str:
    """Return the text without times, sizes, names of files and folders, and widths of columns."""
    if warehouse:
        text = text.replace(warehouse, "/tmp/warehouse")
    for pattern, name in VARYING:
        text = re.sub(pattern, name, text)
    return "\n".join(line.strip() for line in text.splitlines() if line.strip())


def expected_of(page: Path) -> list[tuple[str, str]]:
    """Return the Python blocks of a page, each with the text block that follows it directly."""
    text = page.read_text(encoding="utf-8")
    return [(m["code"], m["output"] or "") for m in PYTHON_WITH_OUTPUT.finditer(text)]


def printed_by(code: str, names: dict[str, Any], place: str) -> str:
    """Run code like a cell of a notebook; return what it prints and the value of its end."""
    tree = ast.parse(code, place)
    last = None
    if tree.body and isinstance(expression := tree.body[-1], ast.Expr):
        last = ast.Expression(expression.value)
        tree.body.pop()
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(tree, place, "exec"), names)
        value = eval(compile(last, place, "eval"), names) if last else None
    return output.getvalue() + ("" if value is None else _plain(value))


def stored_text(cell: Mapping[str, Any]) -> str:
    """Return what a cell printed, without what Spark says while it starts, and its value."""
    parts = []
    for output in cell.get("outputs", ()):
        if output["output_type"] == "stream" and output["name"] == "stdout":
            lines = output["text"].splitlines(keepends=True)
            parts += [line for line in lines if not line.startswith(":: ")]
        elif output["output_type"] == "execute_result":
            parts.append(output["data"]["text/plain"])
    return "".join(parts)


def _plain(value: object) -> str:
    from IPython.lib.pretty import pretty

    text: str = pretty(value)  # type: ignore[no-untyped-call]
    return text


if __name__ == "__main__":
    known: dict[str, Any] = {}
    blocks = expected_of(Path(sys.argv[1]))
    printed = [printed_by(code, known, f"block {n}") for n, (code, _) in enumerate(blocks, 1)]
    sys.stdout.write("\n" + json.dumps(printed) + "\n")
    sys.stdout.flush()
    # Spark's own end may wait for its workers
    os._exit(0)
