"""The settings of a server."""

from __future__ import annotations

from dataclasses import dataclass

from lakesieve.defaults import ADDRESS, WAREHOUSE

MODES = ("server", "client", "either")
"""Who plans scans: this server, the client, or either, as the client chooses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """What a server serves, and where."""

    # A catalog of PyIceberg's configuration, or the address of a REST catalog; `None` is the
    # embedded catalog
    catalog: str | None = None
    warehouse: str = WAREHOUSE  # folder of the embedded catalog
    host: str = ADDRESS  # address on which it listens
    port: int = 8181  # port on which it listens
    workers: int = 1  # how many processes
    mode: str = "server"  # one of :data:`MODES`
    locations: tuple[str, ...] = ()  # further roots to search for indexes
    memory: int = 1 << 30  # bytes of manifests that each process keeps
    certificate: str | None = None  # file of the certificate, for TLS
    key: str | None = None  # file of its key
    # file of the bearer tokens that are good; without it no token is needed
    tokens: str | None = None
    no_auth: bool = False  # whether callers from other machines may come without any authorisation
    concurrency: int = 1000  # how many answers each process makes at once
    log_format: str = "text"  # one of :data:`lakesieve.serve.logs.FORMATS`
    log_filters: bool = False  # whether the log has the filters of plans, with their values
    # whether tables for which a REST catalog behind lends no credentials are read with those of
    # this server
    own_credentials: bool = False
    shutdown_seconds: int = 20  # how long requests may go on when the server is told to end
