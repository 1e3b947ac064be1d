"""Every code block of the documentation is run by a test, or says why not."""

from __future__ import annotations

import shlex
from typing import Any

import pytest
import typer.main
from tests.doc_blocks import PAGES, ROOT, RUNNABLE, blocks_of

from lakesieve.cli import build_app

DOCS = ["README.md", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))]
OTHERS = {"text", "toml", "ini", "dockerfile", "json", "yaml"}


@pytest.mark.parametrize("page", DOCS)
def test_blocks_are_run_or_marked(page: str) -> None:
    """A language, and a test or a reason, which is one."""
    blocks = blocks_of(page)
    assert {block.language for block in blocks} <= RUNNABLE | OTHERS
    assert [block.text for block in blocks if block.why is not None and len(block.why) < 12] == []
    if any(block.is_run for block in blocks):
        test = (ROOT / PAGES[page]).read_text(encoding="utf-8")
        name = page.rpartition("/")[2]
        assert name in test or "PAGES" in test or "tutorial" in PAGES[page]


@pytest.mark.parametrize("page", DOCS)
def test_command_lines_are_understood(page: str) -> None:
    """Also those that are not run name commands and options that there are."""
    top: Any = typer.main.get_command(build_app())
    text = "\n".join(block.text for block in blocks_of(page) if block.language == "sh")
    for line in text.replace("\\\n", " ").splitlines():
        words = shlex.split(line.removeprefix("$ "), comments=True)
        if words[:1] != ["lakesieve"] or any(word.startswith("[") for word in words):
            continue
        command, rest = top.commands[words[1]], words[2:]
        if hasattr(command, "commands"):
            command, rest = command.commands[rest[0]], rest[1:]
        assert command.make_context(words[1], rest) is not None
