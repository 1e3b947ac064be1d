"""Commands for other programs: the REST catalog, and the jar for sessions without Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from lakesieve.cli.command import WITHOUT_SESSION, Run, command
from lakesieve.cli.options import argument, option
from lakesieve.serve.settings import MODES, ServerSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.report import ServerCheck
    from lakesieve.spark.extension.result import JarInfo

_CHECK = {"rich_help_panel": "Checking a server"}
_DEFAULT = ServerSettings()

Catalog = Annotated[
    str | None,
    option(
        "A catalog of PyIceberg's configuration, or the address of a REST catalog; by "
        "default the embedded one.",
        metavar="NAME|URI",
    ),
]
NoAuth = Annotated[
    bool,
    option(
        "Listen for other machines although nothing checks who calls: all who reach the "
        "server read the tables' metadata and commit.",
        "--no-auth",
    ),
]
OwnCredentials = Annotated[
    bool,
    option(
        "In front of a REST catalog that lends no credentials: read tables' metadata with "
        "those of this server. Every caller may then read what the server may.",
        "--own-credentials",
    ),
]
Check = Annotated[
    str | None,
    option(
        "Serve nothing: show what a client of a running server would see.",
        metavar="URI",
        **_CHECK,
    ),
]
Locations = Annotated[
    list[str] | None,
    option("A further root to search for indexes.", "--location", metavar="URI"),
]
Memory = Annotated[int, option("Megabytes of manifests that each process keeps.", min=16)]
Tokens = Annotated[
    str | None,
    option("Bearer tokens, one a line; other callers are refused.", metavar="FILE"),
]
TableOfServer = Annotated[
    str | None, argument("[TABLE]", "With --check: a table, such as `db.orders`.")
]
LogFilters = Annotated[
    bool, option("Log the filters of plans, with their values.", "--log-filters")
]
Mode = Annotated[str, option("Who plans scans: `server`, `client`, or `either`.")]
LogFormat = Annotated[str, option("Lines of the log: `text` or `json`.")]
Concurrency = Annotated[int, option("Answers that each process makes at once.", min=1)]
Warehouse = Annotated[str, option("Directory of the embedded Iceberg catalog.", metavar="DIR")]
Certificate = Annotated[str | None, option("A certificate, for TLS.", metavar="FILE")]
Token = Annotated[str | None, option("A bearer token.", metavar="TOKEN", **_CHECK)]
Port = Annotated[int, option("Port on which to listen.", min=1, max=65535)]
Workers = Annotated[int, option("How many processes.", min=1)]


@command("serve", WITHOUT_SESSION)
def serve(
    run: Run,
    table: TableOfServer = None,
    *,
    catalog: Catalog = _DEFAULT.catalog,
    warehouse: Warehouse = _DEFAULT.warehouse,
    host: Annotated[str, option("Address on which to listen.")] = _DEFAULT.host,
    port: Port = _DEFAULT.port,
    workers: Workers = _DEFAULT.workers,
    mode: Mode = _DEFAULT.mode,
    locations: Locations = None,
    memory: Memory = _DEFAULT.memory >> 20,
    certificate: Certificate = None,
    key: Annotated[str | None, option("The certificate's key.", metavar="FILE")] = None,
    tokens: Tokens = None,
    no_auth: NoAuth = False,
    concurrency: Concurrency = _DEFAULT.concurrency,
    log_format: LogFormat = _DEFAULT.log_format,
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
    _start(run, settings)
    return None


def _start(run: Run, settings: ServerSettings) -> None:
    from lakesieve.serve.logs import FORMATS
    from lakesieve.serve.run import serve as start

    _insist("--mode", settings.mode, MODES)
    _insist("--log-format", settings.log_format, FORMATS)
    shown = settings.catalog or f"the tables in {settings.warehouse}"
    scheme = "https" if settings.certificate else "http"
    run.output.say(f"Serving {shown} at {scheme}://{settings.host}:{settings.port} ...")
    start(settings)


def _insist(option_name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        one_of = ", ".join(choices)
        raise typer.BadParameter(f"{value!r} is none of {one_of}", param_hint=option_name)


def _checked(address: str, table: str, token: str | None) -> ServerCheck:
    from lakesieve.report import ServerCheck
    from lakesieve.serve.check import check_server

    return ServerCheck(address=address, table=table, **check_server(address, table, token))


@command("spark-jar", WITHOUT_SESSION)
def spark_jar(
    _run: Run,
    output: Annotated[Path, option("The file to write.", dir_okay=False, metavar="FILE")] = Path(
        "lakesieve-spark.jar"
    ),
    spark: Annotated[
        str | None,
        option(
            "The session's Spark, such as 4.1; by default the installed one.", metavar="VERSION"
        ),
    ] = None,
) -> JarInfo:
    """Write the jar with which any Spark session skips files: Connect, Thrift, Scala, spark-sql."""
    from lakesieve.spark.extension.jar import write_jar

    return write_jar(output, spark=spark)
