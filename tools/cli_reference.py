"""Writes docs/cli-reference.md, every command with its arguments and options, from the code."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer.main

from lakesieve.cli import build_app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "cli-reference.md"
_HEAD = """# Reference of the command line

Every command as `--help` shows it; what they are for is [on its own page](cli.md).
`lakesieve --install-completion` sets up completion for the shell that you use;
`lakesieve --version` prints the version.
"""


def reference() -> str:
    """The page."""
    top: Any = typer.main.get_command(build_app())
    parts = [_HEAD]
    for name, command in top.commands.items():
        for inner, one in getattr(command, "commands", {"": command}).items():
            parts.append(_section(f"lakesieve {name} {inner}".strip(), one))
    return "\n".join(parts)


def _section(name: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    usage = " ".join([name, *(p.metavar or p.human_readable_name for p in arguments), "[OPTIONS]"])
    lines = [f"## {name}", "", f"`{usage}`", "", _flat(command.help), ""]
    rows = [(p.metavar or p.human_readable_name, "", p.help) for p in arguments]
    rows += [(_option(p), _default(p), p.help) for p in options]
    if rows:
        lines += ["| | default | |", "| --- | --- | --- |"]
        lines += [f"| `{name}` | {default} | {_flat(text)} |" for name, default, text in rows]
    return "\n".join([*lines, ""])


def _option(parameter: Any) -> str:
    names = ", ".join(parameter.opts)
    value = parameter.metavar or parameter.type.name.upper()
    return names if parameter.is_flag else f"{names} {value}"


def _default(parameter: Any) -> str:
    default = parameter.default
    return "" if default in {None, False} or callable(default) else f"`{default}`"


def _flat(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


if __name__ == "__main__":
    Path(sys.argv[1] if len(sys.argv) > 1 else PAGE).write_text(reference(), encoding="utf-8")
