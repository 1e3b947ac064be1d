"""The command that serves a catalog."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from lakesieve.cli.command import WITHOUT_SESSION, Run, command

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.report import ServerCheck

_SERVER = "Checking a server"

TableOfServer = Annotated[
    str | None,
    typer.Argument(
        metavar="[TABLE]", help="With --check: a table, such as `db.orders`.", show_default=False
    ),
]
Check = Annotated[
    str | None,
    typer.Option(
        metavar="URI",
        help="Serve nothing: show what a client of a running server would see.",
        rich_help_panel=_SERVER,
    ),
]
Token = Annotated[
    str | None,
    typer.Option(metavar="TOKEN", help="A bearer token.", rich_help_panel=_SERVER),
]
Catalog = Annotated[
    str | None,
    typer.Option(
        metavar="NAME|URI",
        help="A catalog of PyIceberg's configuration, or the address of a REST catalog; by "
        "default the embedded one.",
    ),
]
Warehouse = Annotated[
    str, typer.Option(metavar="DIR", help="Directory of the embedded Iceberg catalog.")
]
Port = Annotated[int, typer.Option(min=1, max=65535, help="Port on which to listen.")]
Mode = Annotated[str, typer.Option(help="Who plans scans: `server`, `client`, or `either`.")]
Locations = Annotated[
    list[str] | None,
    typer.Option("--location", metavar="URI", help="A further root to search for indexes."),
]
Memory = Annotated[
    int, typer.Option(min=16, help="Megabytes of manifests that each process keeps.")
]
Tokens = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Bearer tokens, one a line; other callers are refused."),
]
NoAuth = Annotated[
    bool,
    typer.Option(
        "--no-auth",
        help="Listen for other machines although nothing checks who calls: all who reach the "
        "server read the tables' metadata and commit.",
    ),
]
OwnCredentials = Annotated[
    bool,
    typer.Option(
        "--own-credentials",
        help="In front of a REST catalog that lends no credentials: read tables' metadata with "
        "those of this server. Every caller may then read what the server may.",
    ),
]
LogFilters = Annotated[
    bool, typer.Option("--log-filters", help="Log the filters of plans, with their values.")
]
Certificate = Annotated[str | None, typer.Option(metavar="FILE", help="A certificate, for TLS.")]


@command("serve", WITHOUT_SESSION)
def serve(
    run: Run,
    table: TableOfServer = None,
    *,
    catalog: Catalog = None,
    warehouse: Warehouse = "warehouse",
    host: Annotated[str, typer.Option(help="Address on which to listen.")] = "127.0.0.1",
    port: Port = 8181,
    workers: Annotated[int, typer.Option(min=1, help="How many processes.")] = 1,
    mode: Mode = "server",
    locations: Locations = None,
    memory: Memory = 1024,
    certificate: Certificate = None,
    key: Annotated[str | None, typer.Option(metavar="FILE", help="The certificate's key.")] = None,
    tokens: Tokens = None,
    no_auth: NoAuth = False,
    concurrency: Annotated[
        int, typer.Option(min=1, help="Answers that each process makes at once.")
    ] = 1000,
    log_format: Annotated[str, typer.Option(help="Lines of the log: `text` or `json`.")] = "text",
    log_filters: LogFilters = False,
    own_credentials: OwnCredentials = False,
    check: Check = None,
    token: Token = None,
) -> ServerCheck | None:
    """Serve a REST catalog that plans scans with indexes, for every Iceberg client."""
    if (check is None) != (table is None):
        raise typer.BadParameter("--check and TABLE need each other", param_hint="--check")
    if check is not None and table is not None:
        return _checked(check, table, token)
    from lakesieve.serve.logs import FORMATS
    from lakesieve.serve.run import MODES, ServerSettings
    from lakesieve.serve.run import serve as start

    _check("--mode", mode, MODES)
    _check("--log-format", log_format, FORMATS)
    shown = catalog or f"the tables in {warehouse}"
    run.output.say(f"Serving {shown} at http{'s' if certificate else ''}://{host}:{port} ...")
    settings = ServerSettings(
        catalog=catalog,
        warehouse=warehouse,
        host=host,
        port=port,
        workers=workers,
        mode=mode,
        locations=tuple(locations or ()),
        memory=memory << 20,
        certificate=certificate,
        key=key,
        tokens=tokens,
        no_auth=no_auth,
        concurrency=concurrency,
        log_format=log_format,
        log_filters=log_filters,
        own_credentials=own_credentials,
    )
    start(settings)
    return None


def _check(option: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise typer.BadParameter(f"{value!r} is none of {', '.join(choices)}", param_hint=option)


def _checked(address: str, table: str, token: str | None) -> ServerCheck:
    from lakesieve.report import ServerCheck
    from lakesieve.serve.check import check_server

    return ServerCheck(address=address, table=table, **check_server(address, table, token))


SERVE = (serve,)
"""The commands."""
