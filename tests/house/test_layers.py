"""The contributing guide keeps up with the contracts of import-linter."""

from __future__ import annotations

import runpy
from pathlib import Path

TOOL = Path(__file__).resolve().parents[2] / "tools" / "layers.py"


def test_the_layers_are_those_that_are_checked() -> None:
    """``python tools/layers.py`` writes the lists of CONTRIBUTING.md as they are."""
    tool = runpy.run_path(str(TOOL))
    page = tool["PAGE"].read_text(encoding="utf-8")

    assert page.count("<!-- layers of ") == 2
    assert tool["page"]() == page
