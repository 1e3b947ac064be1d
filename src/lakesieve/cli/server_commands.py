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
        "Serve this catalog of PyIceberg's configuration, or stand in front of the REST catalog at "
        "this address; by default serve the embedded catalog.",
        metavar="NAME|URI",
        envvar="LAKESIEVE_CATALOG",
    ),
]
NoAuth = Annotated[
    bool,
    option(
        "Listen for other machines although nobody checks callers: everyone may read and commit.",
        "--no-auth",
    ),
]
OwnCredentials = Annotated[
    bool,
    option(
        "Read metadata with this server's rights if a REST catalog lends none: every caller may "
        "then read what the server may.",
        "--own-credentials",
    ),
]
Check = Annotated[
    str | None,
    option(
        "Serve nothing: show what a client of the running server at this address sees.",
        metavar="URI",
        **_CHECK,
    ),
]
Locations = Annotated[
    list[str] | None,
    option("Also search this folder for indexes.", "--location", metavar="URI"),
]
Memory = Annotated[int, option("Megabytes of manifests that each process keeps.", min=16)]
Tokens = Annotated[
    str | None,
    option("File of bearer tokens, one a line; other callers are refused.", metavar="FILE"),
]
TableOfServer = Annotated[
    str | None, argument("[TABLE]", "With --check: a table, such as `db.orders`.")
]
LogFilters = Annotated[
    bool, option("Log the filters of plans, with their values.", "--log-filters")
]
Mode = Annotated[str, option("Who plans scans: `server`, `client`, or `either`.")]
LogFormat = Annotated[str, option("Format of the log's lines: `text` or `json`.")]
Concurrency = Annotated[
    int, option("Requests that each process answers at once; further ones get 503.", min=1)
]
Warehouse = Annotated[
    str,
    option("Folder of the embedded Iceberg catalog.", metavar="DIR", envvar="LAKESIEVE_WAREHOUSE"),
]
Certificate = Annotated[str | None, option("File of a certificate, for TLS.", metavar="FILE")]
Key = Annotated[str | None, option("File of the certificate's key.", metavar="FILE")]
Token = Annotated[
    str | None, option("Bearer token for the running server.", metavar="TOKEN", **_CHECK)
]
Host = Annotated[str, option("Address at which the server listens.")]
Port = Annotated[int, option("Port at which the server listens.", min=1, max=65535)]
Workers = Annotated[int, option("Number of processes.", min=1)]


@command(
    "serve",
    WITHOUT_SESSION,
    examples=(
        "serve --warehouse warehouse --port 8181 --location s3://bucket/indexes",
        "serve --catalog https://catalog.example.com --workers 4 --memory 4096 --own-credentials",
        "serve --host 0.0.0.0 --tokens tokens.txt --certificate server.pem --key server.key",
        "serve --host 0.0.0.0 --no-auth --concurrency 200 --mode either",
        "serve --catalog glue --log-format json --log-filters",
        "serve --check http://127.0.0.1:8181 shop.orders --token secret",
    ),
    more="serve.md",
)
def serve(
    run: Run,
    table: TableOfServer = None,
    *,
    catalog: Catalog = _DEFAULT.catalog,
    warehouse: Warehouse = _DEFAULT.warehouse,
    host: Host = _DEFAULT.host,
    port: Port = _DEFAULT.port,
    workers: Workers = _DEFAULT.workers,
    mode: Mode = _DEFAULT.mode,
    locations: Locations = None,
    memory: Memory = _DEFAULT.memory >> 20,
    certificate: Certificate = None,
    key: Key = None,
    tokens: Tokens = None,
    no_auth: NoAuth = False,
    concurrency: Concurrency = _DEFAULT.concurrency,
    log_format: LogFormat = _DEFAULT.log_format,
    log_filters: LogFilters = False,
    own_credentials: OwnCredentials = False,
    check: Check = None,
    token: Token = None,
) -> ServerCheck | None:
    """Serve a REST catalog that plans scans with indexes, for every Iceberg client.

    The server runs until SIGINT or SIGTERM. It listens for this machine alone, unless `--host`
    says otherwise; then `--tokens`, a REST catalog that checks callers, or `--no-auth` is needed.
    """
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
    message = f"Serving {shown} at {scheme}://{settings.host}:{settings.port} ..."
    start(settings, announce=lambda: run.output.say(message))


def _insist(option_name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        one_of = ", ".join(choices)
        raise typer.BadParameter(f"{value!r} is none of {one_of}", param_hint=option_name)


def _checked(address: str, table: str, token: str | None) -> ServerCheck:
    from lakesieve.report import ServerCheck
    from lakesieve.serve.check import check_server

    return ServerCheck(address=address, table=table, **check_server(address, table, token))


@command(
    "spark-jar",
    WITHOUT_SESSION,
    examples=(
        "spark-jar --output lakesieve-spark.jar",
        "spark-jar --spark 3.5 --output lakesieve-spark-3.5.jar",
    ),
    more="sessions.md",
)
def spark_jar(
    _run: Run,
    output: Annotated[
        Path, option("Write the jar to this file.", dir_okay=False, metavar="FILE")
    ] = Path("lakesieve-spark.jar"),
    spark: Annotated[
        str | None,
        option("Version of the session's Spark: by default the installed one.", metavar="VERSION"),
    ] = None,
) -> JarInfo:
    """Write the jar with which Spark sessions without Python skip files.

    Use it for Spark Connect, Thrift servers, `spark-sql` and jobs in Scala or Java. With `--spark`
    the command needs neither Java nor PySpark.
    """
    from lakesieve.spark.extension.jar import write_jar

    return write_jar(output, spark=spark)
