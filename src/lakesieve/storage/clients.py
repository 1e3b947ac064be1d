"""Open clients of the stores to which locations belong, once for each location and its settings."""

from __future__ import annotations

import hashlib
import os
from datetime import timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from obstore.store import LocalStore, MemoryStore, from_url

from lakesieve.storage.hdfs import HDFS, HdfsStore
from lakesieve.storage.trust import TRUSTED_ROOTS

if TYPE_CHECKING:
    from collections.abc import Mapping

Options = tuple[tuple[str, str], ...]
"""Settings of a store, sorted by name."""

CREDENTIALS = frozenset(
    {
        *("access_key_id", "secret_access_key", "session_token"),
        *("account_key", "sas_key", "tenant_id", "client_id", "client_secret"),
        *("service_account", "service_account_key", "bearer_token"),
    }
)
"""The settings with credentials. Credentials from two sources are never mixed."""

_MEMORY: dict[str, MemoryStore] = {}
_CLIENT = {"timeout": "60s", "connect_timeout": "5s"}
_CLIENT_NAMES = frozenset(
    {"allow_http", "allow_invalid_certificates", "connect_timeout", "timeout"}
)
_RETRIES = {"max_retries": 6, "retry_timeout": timedelta(seconds=90)}
_S3_KEYS = ("access_key_id", "secret_access_key")
# fingerprints are used only within this process
_FINGERPRINT_KEY = os.urandom(32)
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT")


@lru_cache(maxsize=1024)
def fingerprint(options: Options) -> str:
    """Return a digest of settings, which reveals no secret. Equal settings have equal digests.

    The trusted roots are left out, because they do not change what is read at a location.
    """
    settings = repr([(name, value) for name, value in options if name != TRUSTED_ROOTS])
    return hashlib.blake2b(settings.encode(), key=_FINGERPRINT_KEY, digest_size=16).hexdigest()


def with_new_credentials(options: Options, current: Mapping[str, str]) -> Options:
    """Replace the credentials among the settings, and keep all other settings.

    A store is identified by its settings, so new credentials must not lead to another endpoint.
    """
    other_options = {name: value for name, value in options if name not in CREDENTIALS}
    new = {name: value for name, value in current.items() if name in CREDENTIALS}
    return tuple(sorted((other_options | new).items()))


@lru_cache(maxsize=64)
def client(location: str, options: Options) -> Any:
    """Return the client that reads and writes below a location."""
    if location.startswith("/"):
        return LocalStore(prefix=location)
    if location.startswith("memory:"):
        return _MEMORY.setdefault(location, MemoryStore())
    settings: dict[str, Any] = dict(options)
    settings.pop(TRUSTED_ROOTS, None)
    if location.startswith(HDFS):
        return HdfsStore(location, settings)
    chosen: Any = _CLIENT | {name: settings.pop(name) for name in _CLIENT_NAMES & settings.keys()}
    if location.startswith("s3:"):
        # some servers support an exclusive create only with this setting
        settings.setdefault("conditional_put", "etag")
        if "endpoint" not in settings and any(
            os.environ.get(name, "").startswith("http://") for name in _ENDPOINTS
        ):
            # client options replace those of the environment
            chosen.setdefault("allow_http", "true")
        if all(name in settings for name in _S3_KEYS):
            settings["credential_provider"] = _credential_provider(settings)
    retries: Any = _RETRIES
    return from_url(location, client_options=chosen, retry_config=retries, **settings)


def _credential_provider(settings: dict[str, Any]) -> Any:
    """Remove the access keys from ``settings``, and return a provider of only these keys.

    Without a provider, obstore would add the session token from the environment. That token belongs
    to other keys.
    """
    access, secret = (settings.pop(name) for name in _S3_KEYS)
    keys = {
        "access_key_id": access,
        "secret_access_key": secret,
        "token": settings.pop("session_token", None),
        "expires_at": None,
    }
    return lambda: keys
