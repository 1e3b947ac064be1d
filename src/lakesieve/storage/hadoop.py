"""Translate settings of Hadoop's file systems and Iceberg's file IO to storage options."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakesieve.storage.clients import CREDENTIALS
from lakesieve.storage.location import normalized
from lakesieve.storage.trust import TRUSTED_ROOTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_S3A = "fs.s3a."
_HDFS = (
    "dfs.ha.namenodes.",
    "dfs.namenode.rpc-address.",
    "dfs.client.failover.",
    "dfs.client.socket-timeout",
    "dfs.client.use.datanode.hostname",
    "dfs.data.transfer.protection",
    "hadoop.security.authentication",
)
HADOOP_PREFIXES = (_S3A, "fs.azure.", "fs.gs.", "google.cloud.auth.", *_HDFS)
"""Prefixes of the Hadoop settings that are read."""

# Hadoop's name and obstore's name
_S3_NAMES = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint": "endpoint",
    "endpoint.region": "region",
}
# by scheme: the name in Iceberg or PyIceberg, and obstore's name
_FILE_IO_NAMES = {
    "s3": {
        "s3.access-key-id": "access_key_id",
        "s3.secret-access-key": "secret_access_key",
        "s3.session-token": "session_token",
        "s3.endpoint": "endpoint",
        "client.region": "region",
        "s3.region": "region",
    },
    "abfss": {
        "adls.auth.shared-key.account.key": "account_key",
        "adls.account-key": "account_key",
        "adls.sas-token": "sas_key",
        "adls.tenant-id": "tenant_id",
        "adls.client-id": "client_id",
        "adls.client-secret": "client_secret",
    },
    "gs": {
        "gcs.oauth2.token": "bearer_token",
        "gcs.service.host": "base_url",
    },
}
# obstore asks the machine for an identity, unless credentials say that the access is anonymous
_ANONYMOUS = json.dumps(
    {"disable_oauth": True, "client_email": "", "private_key": "", "private_key_id": ""}
)
# names that Iceberg has for each host
_AZURE_HOST_NAMES = {"adls.sas-token": "sas_key", "adls.connection-string": "endpoint"}
_TOKEN_ENDPOINT = re.compile(r"(https://[^/]+)/([^/]+)/oauth2/")


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageOptions:
    """Returns the storage options of each location. Equal values give equal options."""

    # Hadoop's settings, and under TRUSTED_ROOTS comma-separated folders: indexes below them may
    # share objects with an index
    conf: Mapping[str, str] = field(repr=False)
    # properties of a table's own file IO, used where Hadoop's settings say nothing
    file_io: Mapping[str, str] = field(default_factory=dict, repr=False)
    # reads Hadoop's current settings
    source: Callable[[], Mapping[str, str]] | None = field(default=None, repr=False, compare=False)
    # reads the current properties of the file IO, because Iceberg renews credentials that a catalog
    # has vended
    vended: Callable[[], Mapping[str, str]] | None = field(default=None, repr=False, compare=False)

    def __call__(self, location: str) -> dict[str, str]:
        """Return the storage options of one location, from the settings that were read at first."""
        options = hadoop_options(self.conf, location)
        other = _file_io_options(self.file_io, location)
        if CREDENTIALS & options.keys():
            # keys belong together, so credentials come from only one source
            other = {name: value for name, value in other.items() if name not in CREDENTIALS}
        trusted = self.conf.get(TRUSTED_ROOTS)
        return {**other, **options, **({TRUSTED_ROOTS: trusted} if trusted else {})}

    def of_table(self, file_io: Mapping[str, str]) -> StorageOptions:
        """Return these options for a table whose file IO has the given properties."""
        return replace(self, file_io=file_io, vended=None)

    def renewed(self, location: str) -> dict[str, str]:
        """Read the current settings and return the storage options of one location."""
        conf = self.source() if self.source else self.conf
        file_io = self.vended() if self.vended else self.file_io
        return replace(self, conf=conf, file_io=file_io)(location)


def hadoop_options(conf: Mapping[str, str], location: str) -> dict[str, str]:
    """Return storage options that reach a location as Hadoop's file systems do.

    What the settings do not say is taken from the environment: variables, profiles, and the
    identity of the machine.

    Args:
        conf: Hadoop settings, such as ``fs.s3a.endpoint``, ``fs.azure.account.key`` or
            ``fs.gs.auth.service.account.json.keyfile``. Settings for one bucket or account take
            precedence over general ones. Other settings are ignored.
        location: The location.
    """
    scheme, _, rest = normalized(location).partition("://")
    authority = rest.partition("/")[0]
    if scheme == "s3":
        return _s3(conf, authority)
    if scheme == "abfss":
        return _azure(conf, authority)
    if scheme == "hdfs":
        return {name: value for name, value in conf.items() if name.startswith(_HDFS)}
    return _google(conf) if scheme == "gs" else {}


def _s3(conf: Mapping[str, str], bucket: str) -> dict[str, str]:
    settings = {
        name: value
        for prefix in (_S3A, f"{_S3A}bucket.{bucket}.")
        for name in (*_S3_NAMES, "path.style.access", "connection.ssl.enabled")
        if (value := conf.get(prefix + name, "").strip())
    }
    options = {ours: settings[theirs] for theirs, ours in _S3_NAMES.items() if theirs in settings}
    if "endpoint" in options and "://" not in options["endpoint"]:
        plain = settings.get("connection.ssl.enabled", "true").lower() == "false"
        options["endpoint"] = f"{'http' if plain else 'https'}://{options['endpoint']}"
    return _completed(options, settings.get("path.style.access", ""))


def _azure(conf: Mapping[str, str], authority: str) -> dict[str, str]:
    """Return the options of a container, ``container@account.dfs.core.windows.net``."""
    container, _, host = authority.partition("@")

    def setting(name: str) -> str:
        names = (f"{name}.{container}.{host}", f"{name}.{host}", name)
        return next((value for n in names if (value := conf.get(f"fs.azure.{n}", "").strip())), "")

    kind = setting("account.auth.type").lower() or "sharedkey"
    options = {}
    if kind == "sharedkey":
        options["account_key"] = setting("account.key")
    elif kind == "sas":
        options["sas_key"] = setting("sas.fixed.token")
    elif match := _TOKEN_ENDPOINT.match(setting("account.oauth2.client.endpoint")):
        options["authority_host"], options["tenant_id"] = match.groups()
        for ours in ("client_id", "client_secret"):
            options[ours] = setting(f"account.oauth2.{ours.replace('_', '.')}")
    return {name: value for name, value in options.items() if value}


def _google(conf: Mapping[str, str]) -> dict[str, str]:
    def setting(*names: str) -> str:
        return next((value for name in names if (value := conf.get(name, "").strip())), "")

    auth = "auth.service.account."
    names = ("email", "private.key.id", "private.key")
    account = {name: setting(f"fs.gs.{auth}{name}") for name in names}
    options = {
        "service_account": setting(f"fs.gs.{auth}json.keyfile", f"google.cloud.{auth}json.keyfile"),
        "base_url": setting("fs.gs.storage.root.url").rstrip("/"),
    }
    if account["email"] and account["private.key"]:
        document = {
            "type": "service_account",
            "client_email": account["email"],
            "private_key_id": account["private.key.id"],
            "private_key": account["private.key"],
        }
        options["service_account_key"] = json.dumps(document)
    if setting("fs.gs.auth.type").upper() == "UNAUTHENTICATED":
        options["service_account_key"] = _ANONYMOUS
    return _completed({name: value for name, value in options.items() if value}, "")


def _file_io_options(properties: Mapping[str, str], location: str) -> dict[str, str]:
    """Return storage options that reach a location as Iceberg's own file IO does."""
    scheme, _, rest = normalized(location).partition("://")
    names = _FILE_IO_NAMES.get(scheme, {})
    options = {ours: properties[theirs] for theirs, ours in names.items() if properties.get(theirs)}
    host = rest.partition("/")[0].partition("@")[2]
    for theirs, ours in _AZURE_HOST_NAMES.items() if scheme == "abfss" else ():
        if properties.get(f"{theirs}.{host}"):
            options[ours] = properties[f"{theirs}.{host}"]
    style = properties.get("s3.path-style-access", "") if scheme == "s3" else ""
    return _completed(options, style)


def _completed(options: dict[str, str], path_style: str) -> dict[str, str]:
    if any(options.get(name, "").startswith("http://") for name in ("endpoint", "base_url")):
        options["allow_http"] = "true"
    if path_style.lower() == "true":
        options["virtual_hosted_style_request"] = "false"
    return options
