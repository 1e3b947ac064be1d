"""The documentation keeps up with the command line and the public names."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
import typer.main
from tests.doc_blocks import blocks_of

import lakesieve
from lakesieve.cli import build_app
from lakesieve.cli.command import ON_TABLES
from lakesieve.index import ReasonCode

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", *(str(p.relative_to(ROOT)) for p in sorted((ROOT / "docs").glob("*.md")))]
COMMAND_LINES = [
    line[line.index("lakesieve ") :]
    for page in PAGES
    for block in blocks_of(page)
    if block.language == "sh"
    for line in block.text.replace("\\\n", " ").splitlines()
    if "lakesieve " in line
]
OF_ALL_PROGRAMS = {"--help"}
API_PAGE = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
PAGE_OF_REASONS = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
TOP = typer.main.get_command(build_app()).commands  # type: ignore[attr-defined]
# those of a group are called by two words
COMMANDS = {name: command for name, command in TOP.items() if not hasattr(command, "commands")} | {
    f"{name} {inner}": command
    for name, group in TOP.items()
    if hasattr(group, "commands")
    for inner, command in group.commands.items()
}


def test_the_page_of_the_command_line_is_current() -> None:
    """``python tools/cli_reference.py`` writes docs/cli.md as it is."""
    tool = runpy.run_path(str(ROOT / "tools" / "cli_reference.py"))
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["reference"]()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_option_has_an_example(name: str) -> None:
    """Each option of a command is in a command line on a page; common options in that of any."""
    mine = [line for line in COMMAND_LINES if line.startswith(f"lakesieve {name} ")]
    lines = {"own": " ".join(mine).split(), "common": " ".join(COMMAND_LINES).split()}

    missing = [
        option
        for parameter in COMMANDS[name].params
        for option in parameter.opts
        if option.startswith("--") and option not in OF_ALL_PROGRAMS
        if option not in lines["common" if parameter.name in ON_TABLES else "own"]
    ]

    assert missing == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_helps_are_a_sentence(name: str) -> None:
    """The first line of a command's help, and each help of an option, is one short sentence."""
    first = COMMANDS[name].help.splitlines()[0]
    texts = [first, *(p.help for p in COMMANDS[name].params)]

    assert [text for text in texts if not text.endswith(".") or len(text.split()) > 25] == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_parameter_has_help(name: str) -> None:
    """Every argument and option says what it is for."""
    silent = [p.name for p in COMMANDS[name].params if not getattr(p, "help", None)]

    assert silent == []


@pytest.mark.parametrize("name", sorted(lakesieve.__all__))
def test_every_public_name_is_documented(name: str) -> None:
    """Every name that ``lakesieve`` exports is in the reference."""
    assert f"\n::: lakesieve.{name}\n" in API_PAGE


@pytest.mark.parametrize("code", sorted(ReasonCode))
def test_every_reason_is_documented(code: ReasonCode) -> None:
    """Every reason code has its next step in docs/troubleshooting.md."""
    assert f"| `{code}`" in PAGE_OF_REASONS or f", `{code}`" in PAGE_OF_REASONS


def test_every_setting_is_on_the_page_of_configuration() -> None:
    """Variables and settings of Spark that the sources read stand in docs/configuration.md."""
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    sources = [*(ROOT / "src").rglob("*.py"), *(ROOT / "jvm" / "src" / "main").rglob("*.java")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    settings = set(re.findall(r"\"(spark\.lakesieve\.[a-zA-Z.]+|LAKESIEVE_[A-Z_]+)\"", text))

    # what a session and a server say to themselves
    settings -= {"spark.lakesieve.formats", "spark.lakesieve.warehouse", "LAKESIEVE_SERVE"}

    assert len(settings) > 12
    assert sorted(name for name in settings if f"`{name}`" not in page) == []
