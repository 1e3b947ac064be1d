"""The application ``lakesieve`` and its entry point."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from lakesieve.cli import (
    build_commands,
    deletes_commands,
    look_commands,
    row_commands,
    server_commands,
    upkeep_commands,
)
from lakesieve.cli.command import Command
from lakesieve.cli.options import option
from lakesieve.cli.session import own_process
from lakesieve.version import __version__

_MODULES = {
    "Look": look_commands,
    "Build": build_commands,
    "Keep up": upkeep_commands,
    "Rows by key": row_commands,
    "Row-level deletes": deletes_commands,
    "Serve": server_commands,
}
"""The chapters of ``--help``, in the order in which a user meets them, and their commands."""

_FIRST = ("tables", "advise", "create", "explain", "refresh")
"""The commands that matter most, shown before all others."""


def chapters() -> dict[str, list[Command]]:
    """Return the commands by the chapters of ``--help``."""
    found = {
        title: [one for one in vars(module).values() if isinstance(one, Command)]
        for title, module in _MODULES.items()
    }
    known = {one.name: one for commands in found.values() for one in commands}
    others = {
        title: [one for one in commands if one.name not in _FIRST]
        for title, commands in found.items()
    }
    return {"Start here": [known[name] for name in _FIRST], **others}


def build_app() -> typer.Typer:
    """Build the application."""
    app = typer.Typer(
        name="lakesieve",
        help="Build and use secondary indexes that skip data files of your lakehouse tables.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def root(
        version: Annotated[
            bool,
            option("Print the version and exit.", "--version", callback=_version, is_eager=True),
        ] = False,
    ) -> None:
        pass

    deletes = typer.Typer(
        name="deletes",
        help="Show what equality deletes of Iceberg tables cost, and convert them.",
        no_args_is_help=True,
    )
    for title, commands in chapters().items():
        for each in commands:
            each.add_to({"": app, "deletes": deletes}, title)
    app.add_typer(deletes, rich_help_panel="Row-level deletes")
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lakesieve {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line and exit with its status."""
    own_process()
    try:
        build_app()()
    except BrokenPipeError:
        # the reader of stdout has seen enough, as in `lakesieve files ... | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
