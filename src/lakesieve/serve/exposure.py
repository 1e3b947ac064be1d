"""Checks that a server which other machines reach knows its callers."""

from __future__ import annotations

import ipaddress
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from lakesieve.errors import ErrorKind, InvalidInputError

if TYPE_CHECKING:
    from lakesieve.serve.settings import ServerSettings

_SECONDS = 10.0
_REFUSALS = frozenset({401, 403})


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches a host.

    A name other than ``localhost`` may stand for any address.
    """
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_exposure(settings: ServerSettings, upstream: str | None) -> None:
    """Refuse to listen on an address that other machines reach if no caller is authenticated.

    Raises:
        InvalidInputError: No caller is authenticated, and ``no_auth`` is not set.
    """
    if is_loopback(settings.host) or settings.tokens is not None or settings.no_auth:
        return
    if upstream is None:
        raise _exposed(
            settings.host,
            "nothing checks who calls",
            "Give --tokens with a file of bearer tokens",
        )
    found = authorises(upstream)
    if found is None:
        raise _exposed(
            settings.host,
            "it is not known whether the catalog behind checks who calls: it does not answer",
            "Start it when the catalog behind runs",
        )
    if not found:
        raise _exposed(
            settings.host,
            "the catalog behind answers callers without credentials",
            "Make the catalog behind ask for credentials",
        )


def authorises(upstream: str) -> bool | None:
    """Return whether a REST catalog refuses callers without credentials.

    ``None`` means that it does not answer.
    """
    import httpx

    base = f"{upstream.rstrip('/').removesuffix('/v1')}/v1"
    try:
        with httpx.Client(timeout=_SECONDS, follow_redirects=False) as client:
            config = client.get(f"{base}/config")
            if config.status_code in _REFUSALS:
                return True
            try:
                prefix = prefix_of(config.json())
            except (ValueError, TypeError, AttributeError):
                prefix = ""
            place = f"{base}/{quote(prefix)}/namespaces" if prefix else f"{base}/namespaces"
            listed = client.get(place)
    except (httpx.HTTPError, httpx.InvalidURL):
        return None
    if listed.status_code >= 500:
        return None
    return listed.status_code in _REFUSALS


def prefix_of(config: Any) -> str:
    """Return what stands before the namespaces in the paths of a catalog, by its configuration."""
    merged = {**(config.get("defaults") or {}), **(config.get("overrides") or {})}
    return str(merged.get("prefix") or "")


def _exposed(host: str, why: str, instead: str) -> InvalidInputError:
    return InvalidInputError(
        f"Other machines reach {host}, and {why}.",
        kind=ErrorKind.INVALID_ARGUMENT,
        hint=f"{instead}, listen on 127.0.0.1, or say with --no-auth that all may call.",
    )
