"""Starts the server, in one process or several."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, not_installed
from lakesieve.serve.logs import log_config
from lakesieve.tables.opening import WAREHOUSE

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.types import ASGIApp

    from lakesieve.serve.service import PlanningService

__all__ = ["MODES", "ServerSettings", "app", "serve"]

MODES = ("server", "client", "either")
"""Who plans scans: this server, the client, or whom the client chooses."""

_PACKAGES = ("pyiceberg", "starlette", "uvicorn", "httpx", "prometheus_client")
_SETTINGS = "LAKESIEVE_SERVE"
# the folder in which prometheus_client counts across processes; set before it is imported
_COUNTS = "PROMETHEUS_MULTIPROC_DIR"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What a server serves, and where.

    Args:
        catalog: A catalog of PyIceberg's configuration, or the address of a REST catalog; ``None``
            is the embedded catalog.
        warehouse: Folder of the embedded catalog.
        host: Address on which it listens.
        port: Port on which it listens.
        workers: How many processes.
        mode: One of :data:`MODES`.
        locations: Further roots to search for indexes.
        memory: Bytes of manifests that each process keeps.
        certificate: File of the certificate, for TLS.
        key: File of its key.
        tokens: File of the bearer tokens that are good; without it no token is needed.
        concurrency: How many answers each process makes at once.
        log_format: One of :data:`lakesieve.serve.logs.FORMATS`.
        log_filters: Whether the log has the filters of plans, with their values.
    """

    catalog: str | None = None
    warehouse: str = WAREHOUSE
    host: str = "127.0.0.1"
    port: int = 8181
    workers: int = 1
    mode: str = "server"
    locations: tuple[str, ...] = ()
    memory: int = 1 << 30
    certificate: str | None = None
    key: str | None = None
    tokens: str | None = None
    concurrency: int = 1000
    log_format: str = "text"
    log_filters: bool = False


def serve(settings: ServerSettings) -> None:
    """Serve until the process is terminated.

    Args:
        settings: What, and where.

    Raises:
        SetupError: A package is missing.
        InvalidInputError: There is no such catalog.
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise not_installed(f"Serving takes {', '.join(missing)}.", "serve")
    # so that a mistake is an error before there are processes
    _made(settings)
    os.environ[_SETTINGS] = json.dumps(asdict(settings))
    with contextlib.ExitStack() as stack:
        if settings.workers > 1:
            counts = stack.enter_context(tempfile.TemporaryDirectory(prefix="lakesieve-serve-"))
            os.environ[_COUNTS] = counts
        _run(settings)


def _run(settings: ServerSettings) -> None:
    import uvicorn

    uvicorn.run(
        "lakesieve.serve.run:app",
        factory=True,
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        log_level="info",
        access_log=False,
        log_config=log_config(uvicorn.config.LOGGING_CONFIG, settings.log_format),
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
    )


def app() -> ASGIApp:
    """The application by the settings that :func:`serve` left in the environment."""
    given = json.loads(os.environ[_SETTINGS])
    return _made(ServerSettings(**given | {"locations": tuple(given["locations"])}))


def _made(settings: ServerSettings) -> ASGIApp:
    """The application, guarded as the settings say."""
    from lakesieve.serve.guard import Limit, Tokens, read_tokens

    made: ASGIApp = Limit(_catalog(settings), settings.concurrency)
    return made if settings.tokens is None else Tokens(made, read_tokens(settings.tokens))


def _catalog(settings: ServerSettings) -> Starlette:
    from lakesieve.serve.app import build_app
    from lakesieve.serve.catalogs import PyIcebergCatalog, WarehouseCatalog
    from lakesieve.serve.service import PlanningService

    service = PlanningService(
        locations=settings.locations,
        memory=settings.memory,
        log_filters=settings.log_filters,
    )
    name = settings.catalog
    if name is None:
        return build_app(WarehouseCatalog(settings.warehouse), service, mode=settings.mode)
    if name.startswith(("http://", "https://")):
        return _proxy(settings, name, service)
    from pyiceberg.catalog import load_catalog

    from lakesieve.tables.iceberg.catalogs import catalog_properties

    properties = catalog_properties(name)
    if properties is None:
        raise InvalidInputError(
            f"PyIceberg's configuration has no catalog {name!r}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Describe it in .pyiceberg.yaml or by variables such as "
            "PYICEBERG_CATALOG__NAME__URI, or give the address of a REST catalog.",
        )
    address = properties.get("uri", "")
    if properties.get("type") == "rest" or address.startswith(("http://", "https://")):
        # its callers say themselves who they are
        return _proxy(settings, address, service)
    catalog = PyIcebergCatalog(load_catalog(name, **properties))
    return build_app(catalog, service, mode=settings.mode)


def _proxy(settings: ServerSettings, address: str, service: PlanningService) -> Starlette:
    from lakesieve.serve.upstream import build_proxy

    if settings.tokens is not None:
        raise InvalidInputError(
            "Tokens are checked by the REST catalog behind, not by this server too.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Leave out --tokens: callers send what the catalog behind expects.",
        )
    return build_proxy(address, service, mode=settings.mode)
