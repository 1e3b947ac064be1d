"""The documentation keeps up with the command line and the public names."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest
import typer.main

import lakesieve
from lakesieve.cli import build_app
from lakesieve.index import ReasonCode

ROOT = Path(__file__).resolve().parents[2]
CLI_PAGE = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
API_PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
PAGE_OF_REASONS = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
TOP = typer.main.get_command(build_app()).commands  # type: ignore[attr-defined]
# those of a group are called by two words
COMMANDS = {name: command for name, command in TOP.items() if not hasattr(command, "commands")} | {
    f"{name} {inner}": command
    for name, group in TOP.items()
    if hasattr(group, "commands")
    for inner, command in group.commands.items()
}


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_is_documented(name: str) -> None:
    """Every command has help of its own and a section in docs/cli.md that names its options."""
    command = COMMANDS[name]
    section = CLI_PAGE.partition(f"\n## lakesieve {name}\n")[2].partition("\n## ")[0]
    shared = CLI_PAGE.partition("\n## Options of every command\n")[2].partition("\n## ")[0]
    options = [o for parameter in command.params for o in parameter.opts if o.startswith("--")]

    assert command.help
    assert section
    assert [o for o in options if f"`{o}" not in section + shared and o != "--help"] == []


def test_the_reference_is_that_of_the_code() -> None:
    """``python tools/cli_reference.py`` writes docs/cli-reference.md as it is."""
    path = ROOT / "tools" / "cli_reference.py"
    tool = runpy.run_path(str(path))
    assert tool["PAGE"].read_text(encoding="utf-8") == tool["reference"]()


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_parameter_has_help(name: str) -> None:
    """Every argument and option says what it is for."""
    silent = [p.name for p in COMMANDS[name].params if not getattr(p, "help", None)]

    assert silent == []


@pytest.mark.parametrize("name", sorted(lakesieve.__all__))
def test_every_public_name_is_documented(name: str) -> None:
    """Every name that ``lakesieve`` exports is in docs/python.md."""
    assert f"`{name}" in API_PAGE or f"ls.{name}" in API_PAGE


@pytest.mark.parametrize("code", sorted(ReasonCode))
def test_every_reason_is_documented(code: ReasonCode) -> None:
    """Every reason code has its next step in docs/troubleshooting.md."""
    assert f"| `{code}`" in PAGE_OF_REASONS or f", `{code}`" in PAGE_OF_REASONS
