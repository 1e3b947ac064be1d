"""Shell completion of the names of tables and indexes, without Spark."""

from __future__ import annotations

import io
import threading
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

# typer reads the annotations of a completion function when it runs
import typer  # noqa: TC002

from lakesieve.defaults import WAREHOUSE

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS = 2.0
"""How long a person at a prompt waits for names. A catalog far away may take longer."""


def names_of_tables(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the tables of the catalog whose names begin with the text at the cursor."""
    from lakesieve.tables.listing import table_names

    names = _in_time(lambda: table_names(**_catalog(ctx)))
    return [name for name in names if name.startswith(incomplete)]


def index_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the indexes of the command's table whose names begin with the text at the cursor."""
    from lakesieve.cli.session import leave_out_pandas
    from lakesieve.index.access import without_engine

    leave_out_pandas()

    def names() -> list[str]:
        access = without_engine(**_catalog(ctx))
        table = access.open_table(ctx.params["table"])
        return sorted(access.stores(table, ctx.params.get("location")))

    return [name for name in _in_time(names) if name.startswith(incomplete)]


def _catalog(ctx: typer.Context) -> dict[str, Any]:
    given = ctx.params
    return {
        "catalog": given.get("catalog"),
        "warehouse": given.get("warehouse") or WAREHOUSE,
    }


def _in_time(look_up: Callable[[], list[str]]) -> list[str]:
    """Return the names of a look-up; none if it fails, writes, or takes too long."""
    names: list[str] = []

    def act() -> None:
        try:
            names.extend(look_up())
        except Exception:  # noqa: BLE001 - a shell at its prompt has no place for an error
            names.clear()

    # a daemon: the process ends even if a catalog does not answer
    thread = threading.Thread(target=act, daemon=True)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        thread.start()
        thread.join(_SECONDS)
        # a look-up that is still running has found nothing
        return [] if thread.is_alive() else names
