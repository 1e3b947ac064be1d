"""The code blocks of the documentation: which are run by a test, and why others are not.

A block is run unless a comment stands before it, ``<!-- not run: WHY -->``. Output, settings and
files of other tools are blocks of another language than :data:`RUNNABLE`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

__all__ = ["PAGES", "ROOT", "RUNNABLE", "Block", "blocks_of"]

ROOT = Path(__file__).resolve().parents[1]
RUNNABLE = frozenset(("python", "sql", "sh"))
PAGES = {
    # by the test that runs all blocks of a page which are not marked
    **dict.fromkeys(
        ("README.md", "docs/cli.md", "docs/commands.md", "docs/row-blocks.md"),
        "tests/spark/test_doc_blocks.py",
    ),
    **dict.fromkeys(
        ("docs/equality-deletes.md", "docs/keys.md", "docs/operations.md", "docs/api.md"),
        "tests/spark/test_doc_blocks.py",
    ),
    **dict.fromkeys(
        (
            "docs/maintain.md",
            "docs/expressions.md",
            "docs/elements.md",
            "docs/entries.md",
            "docs/words.md",
            "docs/sql.md",
        ),
        "tests/spark/test_doc_blocks.py",
    ),
    "docs/tutorial.md": "tests/spark/test_tutorial.py",
    **dict.fromkeys(
        ("docs/pyiceberg.md", "docs/polars.md", "docs/duckdb.md"), "tests/engines/test_docs.py"
    ),
}
_BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<why>[^\n]+?) -->\n\n?)?^```(?P<language>\w*)[^\n]*\n(?P<text>.*?)^```",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A block of code.

    Args:
        language: Its language.
        text: What it says.
        why: Why it is not run, if it is not.
    """

    language: str
    text: str
    why: str | None

    @property
    def is_run(self) -> bool:
        """Whether a test has to run it."""
        return self.language in RUNNABLE and self.why is None


def blocks_of(page: str) -> list[Block]:
    """The blocks of a page.

    Args:
        page: Its path from the project's root.
    """
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(language=found["language"], text=found["text"], why=found["why"])
        for found in _BLOCK.finditer(text)
    ]
