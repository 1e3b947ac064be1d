"""The application ``lakesieve`` and its entry point."""

from __future__ import annotations

import os
import sys
from importlib import metadata
from typing import Annotated

import typer

from lakesieve.cli.advise import ADVISE
from lakesieve.cli.by_key import BY_KEY
from lakesieve.cli.commands import COMMANDS
from lakesieve.cli.deletes import DELETES
from lakesieve.cli.demo import DEMO
from lakesieve.cli.keys import KEYS
from lakesieve.cli.maintain import MAINTAIN
from lakesieve.cli.report import REPORT
from lakesieve.cli.serve import SERVE
from lakesieve.cli.spark_jar import SPARK_JAR
from lakesieve.cli.startup import own_process


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
            typer.Option(
                "--version", help="Print the version and exit.", callback=_version, is_eager=True
            ),
        ] = False,
    ) -> None:
        pass

    for command in (
        *(*DEMO, *COMMANDS, *ADVISE, *BY_KEY, *KEYS),
        *(*MAINTAIN, *REPORT, *SERVE, *SPARK_JAR),
    ):
        command.add_to(app)
    deletes = typer.Typer(
        name="deletes",
        help="Equality deletes of Iceberg tables: what they cost, and getting rid of them.",
        no_args_is_help=True,
    )
    for command in DELETES:
        command.add_to(deletes)
    app.add_typer(deletes)
    return app


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lakesieve {metadata.version('lakesieve')}")
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
