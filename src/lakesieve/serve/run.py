"""Starts the server, in one process or several."""

from __future__ import annotations

import contextlib
import errno
import json
import logging
import multiprocessing
import os
import signal
import socket
import ssl
import tempfile
import threading
import time
from dataclasses import asdict
from importlib.util import find_spec
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, InvalidInputError, SetupError, not_installed
from lakesieve.printable import secrets_in
from lakesieve.serve.exposure import check_exposure
from lakesieve.serve.logs import conceal, concealed, log_config
from lakesieve.serve.settings import ServerSettings

if TYPE_CHECKING:
    from collections.abc import Callable
    from multiprocessing.process import BaseProcess

    from pyiceberg.catalog import Catalog as PyIceberg
    from starlette.types import ASGIApp

_PACKAGES = ("pyiceberg", "starlette", "uvicorn", "httpx", "prometheus_client")
_SETTINGS = "LAKESIEVE_SERVE"
_ADDRESSES = ("http://", "https://")
_ORPHAN_SECONDS = 10.0
"""How long a worker without a parent may finish its answers."""
# the folder in which prometheus_client counts across processes; set before it is imported
_COUNTS = "PROMETHEUS_MULTIPROC_DIR"


def serve(settings: ServerSettings, announce: Callable[[], None] = lambda: None) -> None:
    """Serve until the process is terminated.

    ``announce`` is called when everything was checked and the server is about to listen.

    Raises:
        SetupError: A package is missing.
        InvalidInputError: There is no such catalog, or other machines could reach the server while
            nothing checks its callers, or the server cannot listen where it should.
    """
    missing = [name for name in _PACKAGES if find_spec(name) is None]
    if missing:
        raise not_installed(f"Serving takes {', '.join(missing)}.", "serve")
    # so that a mistake is an error before there are processes
    guarded_app(settings)
    check_exposure(settings, upstream_of(settings))
    check_certificate(settings.certificate, settings.key)
    check_port(settings.host, settings.port)
    announce()
    os.environ[_SETTINGS] = json.dumps(asdict(settings))
    with contextlib.ExitStack() as stack:
        if settings.workers > 1:
            counts = stack.enter_context(tempfile.TemporaryDirectory(prefix="lakesieve-serve-"))
            os.environ[_COUNTS] = counts
        _run(settings)


def check_certificate(certificate: str | None, key: str | None) -> None:
    """Insist that the files for TLS can be used.

    Raises:
        InvalidInputError: They cannot.
    """
    if certificate is None and key is None:
        return
    if certificate is None:
        raise InvalidInputError(
            "A key needs its certificate.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give --certificate with the file of the certificate, too.",
        )
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certificate, key)
    except (OSError, ValueError) as error:
        raise InvalidInputError(
            f"The certificate {certificate} cannot be used: {error}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give a certificate and its key in PEM files: --certificate FILE --key FILE.",
        ) from error


def check_port(host: str, port: int) -> None:
    """Insist that a server can listen at an address.

    Raises:
        InvalidInputError: Another program listens there, or this machine does not allow it.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            # as the server does: connections that have just ended do not count
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            problem = f"Another program listens on port {port} of {host}."
            hint = f"Stop that program, or choose another port: --port {port % 65535 + 1}."
        else:
            problem = f"The server cannot listen on port {port} of {host}: {error.strerror}."
            hint = "Give an address of this machine, and a port above 1023."
        raise InvalidInputError(problem, kind=ErrorKind.INVALID_ARGUMENT, hint=hint) from error


def _run(settings: ServerSettings) -> None:
    import uvicorn

    from lakesieve.serve.connections import Connection

    uvicorn.run(
        "lakesieve.serve.run:app",
        factory=True,
        http=Connection,
        ws="none",
        host=settings.host,
        port=settings.port,
        workers=settings.workers,
        log_level="info",
        access_log=False,
        log_config=log_config(uvicorn.config.LOGGING_CONFIG, settings.log_format),
        ssl_certfile=settings.certificate,
        ssl_keyfile=settings.key,
        timeout_graceful_shutdown=settings.shutdown_seconds,
    )


def app() -> ASGIApp:
    """Build the application from the settings that :func:`serve` left in the environment."""
    _end_with_parent()
    logging.captureWarnings(capture=True)
    given = json.loads(os.environ[_SETTINGS])
    return guarded_app(ServerSettings(**given | {"locations": tuple(given["locations"])}))


def guarded_app(settings: ServerSettings) -> ASGIApp:
    """Build the application, guarded as the settings say.

    Raises:
        InvalidInputError: There is no such catalog, or no such file of tokens.
        SetupError: The catalog cannot be opened.
    """
    from lakesieve.serve.app import build_app
    from lakesieve.serve.catalogs import PyIcebergCatalog, WarehouseCatalog
    from lakesieve.serve.guard import read_tokens
    from lakesieve.serve.planning import PlanningContext
    from lakesieve.serve.upstream import build_proxy
    from lakesieve.tables.iceberg.manifest_cache import ManifestCache

    conceal(secrets_in(os.environ))
    context = PlanningContext(
        locations=settings.locations,
        cache=ManifestCache.of(settings.memory),
        log_filters=settings.log_filters,
    )
    address = upstream_of(settings)
    if address is not None and settings.tokens is not None:
        raise InvalidInputError(
            "In front of a REST catalog, this server checks no tokens: that catalog does.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Leave out --tokens. Callers send the credentials that the catalog expects.",
        )
    tokens = None if settings.tokens is None else read_tokens(settings.tokens)
    conceal(tokens or ())
    if address is None:
        catalog = (
            WarehouseCatalog(settings.warehouse)
            if settings.catalog is None
            else PyIcebergCatalog(_own(settings.catalog))
        )
        return build_app(
            catalog,
            context,
            mode=settings.mode,
            tokens=tokens,
            concurrency=settings.concurrency,
        )
    return build_proxy(
        address,
        context,
        mode=settings.mode,
        own_credentials=settings.own_credentials,
        concurrency=settings.concurrency,
    )


def _own(name: str) -> PyIceberg:
    """Open a catalog of PyIceberg's configuration."""
    from pyiceberg.catalog import load_catalog

    properties = _properties(name)
    conceal(secrets_in(properties))
    try:
        return load_catalog(name, **properties)
    except Exception as error:  # noqa: BLE001 - catalogs are clients of many kinds
        said = concealed(str(error).partition("\n")[0])
        raise SetupError(
            f"PyIceberg cannot open the catalog {name!r}: {type(error).__name__}: {said}",
            kind=ErrorKind.STORAGE_FAILED,
            hint="Check its settings in PyIceberg's configuration.",
        ) from None


def _properties(name: str) -> dict[str, str]:
    """Return the settings of a catalog of PyIceberg's configuration."""
    from lakesieve.tables.iceberg.catalogs import catalog_properties

    properties = catalog_properties(name)
    if properties is None:
        raise InvalidInputError(
            f"PyIceberg's configuration has no catalog {name!r}.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Describe it in .pyiceberg.yaml or by variables such as "
            "PYICEBERG_CATALOG__NAME__URI, or give the address of a REST catalog.",
        )
    return properties


def upstream_of(settings: ServerSettings) -> str | None:
    """Return the address of the REST catalog behind, if there is one.

    Raises:
        InvalidInputError: There is no such catalog.
    """
    name = settings.catalog
    if name is None or name.startswith(_ADDRESSES):
        return name
    properties = _properties(name)
    address = properties.get("uri", "")
    return address if properties.get("type") == "rest" or address.startswith(_ADDRESSES) else None


def _end_with_parent() -> None:
    """End this worker process when its parent process has ended for any reason.

    A parent that is killed cannot end its workers. They would hold the port, and answer with old
    settings.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True, name="parent").start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    # uvicorn first finishes the answers that are under way
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(_ORPHAN_SECONDS)
    os._exit(1)
