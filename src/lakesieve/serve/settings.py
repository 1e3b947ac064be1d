"""The settings of a server."""

from __future__ import annotations

from dataclasses import dataclass

from lakesieve.defaults import ADDRESS, WAREHOUSE

MODES = ("server", "client", "either")
"""Who plans scans: this server, the client, or whom the client chooses."""


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
        no_auth: Whether callers from other machines may come without any authorisation.
        concurrency: How many answers each process makes at once.
        log_format: One of :data:`lakesieve.serve.logs.FORMATS`.
        log_filters: Whether the log has the filters of plans, with their values.
        own_credentials: Whether tables for which a REST catalog behind lends no credentials are
            read with those of this server.
        shutdown_seconds: How long requests may go on when the server is told to end.
    """

    catalog: str | None = None
    warehouse: str = WAREHOUSE
    host: str = ADDRESS
    port: int = 8181
    workers: int = 1
    mode: str = "server"
    locations: tuple[str, ...] = ()
    memory: int = 1 << 30
    certificate: str | None = None
    key: str | None = None
    tokens: str | None = None
    no_auth: bool = False
    concurrency: int = 1000
    log_format: str = "text"
    log_filters: bool = False
    own_credentials: bool = False
    shutdown_seconds: int = 20
