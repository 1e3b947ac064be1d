"""Writes the lists of layers in CONTRIBUTING.md from the contracts of import-linter."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
_LIST = re.compile(r"(<!-- layers of (\S+) -->\n```\n).*?\n(?=```\n)", re.DOTALL)


def page() -> str:
    """Return CONTRIBUTING.md with the lists as they should be."""
    return _LIST.sub(lambda found: f"{found[1]}{_layers(found[2])}\n", PAGE.read_text("utf-8"))


def _layers(container: str) -> str:
    """List the layers of a package, top first; names behind a bar belong to the layer above."""
    document = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contracts = document["tool"]["importlinter"]["contracts"]
    layers = next(one["layers"] for one in contracts if one.get("containers") == [container])
    lines = []
    for layer in layers:
        for number, name in enumerate(re.findall(r"\w+", layer)):
            path = ROOT / "src" / Path(*container.split(".")) / name
            path = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
            about = (ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n")[0]
            lines.append(f"{'| ' if number else ''}{name}".ljust(15) + about.rstrip("."))
    return "\n".join(lines)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
