"""The application ``lakesieve`` and its entry point."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from lakesieve.cli import (
    index_commands,
    page_commands,
    row_commands,
    server_commands,
    upkeep_commands,
)
from lakesieve.cli.command import Command
from lakesieve.cli.options import option
from lakesieve.cli.session import own_process
from lakesieve.version import __version__

_GROUPS = {
    "Indexes": index_commands,
    "Demo, advice, reports": page_commands,
    "Rows and keys": row_commands,
    "Upkeep": upkeep_commands,
    "Servers and sessions": server_commands,
}
"""Titles under which ``--help`` lists the commands of a module."""


def build_app() -> typer.Typer:
    """Build the application."""
    app = typer.Typer(
        name="lakesieve",
        help="Secondary file-skipping indexes for the lakehouse tables you already have.",
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
        help="Equality deletes of Iceberg tables: what they cost, and getting rid of them.",
        no_args_is_help=True,
    )
    for title, module in _GROUPS.items():
        for each in vars(module).values():
            if isinstance(each, Command):
                each.add_to({"": app, "deletes": deletes}, title)
    app.add_typer(deletes, rich_help_panel="Upkeep")
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
