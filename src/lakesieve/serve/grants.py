"""Tables that another catalog grants to one caller, and the credentials that it lends with them.

In front of another catalog only the caller's authority counts. The server reads the files of a
table with the credentials that the catalog lent for it. It uses its own only if its operator has
said that all callers may read what the server may.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

from pyiceberg.io import load_file_io
from pyiceberg.table import TableProperties

from lakesieve.errors import ErrorKind, StorageError, UnsupportedError
from lakesieve.serve.bounds import TableBounds
from lakesieve.serve.catalogs import ServedTable
from lakesieve.serve.metadata import parsed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# headers about a request, its connection and its client, not about who the caller is
_NOT_THE_CALLER = frozenset(
    {
        "accept",
        "accept-encoding",
        "accept-language",
        "cache-control",
        "content-encoding",
        "content-type",
        "date",
        "expect",
        "idempotency-key",
        "if-none-match",
        "pragma",
        "traceparent",
        "tracestate",
        "user-agent",
        "x-request-id",
    }
)
_S3 = {
    "s3.access-key-id": ("s3.access-key-id", "client.access-key-id"),
    "s3.secret-access-key": ("s3.secret-access-key", "client.secret-access-key"),
    "s3.session-token": ("s3.session-token", "client.session-token"),
    "s3.region": ("s3.region", "client.region"),
    "s3.endpoint": ("s3.endpoint",),
    "s3.path-style-access": ("s3.path-style-access",),
    "s3.force-virtual-addressing": ("s3.force-virtual-addressing",),
}
_GCS = {name: (name,) for name in ("gcs.oauth2.token", "gcs.oauth2.token-expires-at")}
_AZURE_HOST = re.compile(r"[a-z]+://[^@/]+@(([^./]+)\.[^/]+)", re.IGNORECASE)
_PLACES = (
    "write.data.path",
    "write.folder-storage.path",
    "write.object-storage.path",
    TableProperties.WRITE_METADATA_PATH,
)


def caller_of(headers: Iterable[tuple[str, str]]) -> str:
    """Return a digest of the headers that say who the caller is, and what credentials it wants.

    Every header counts except well-known ones that say nothing about the caller, because a catalog
    may look at any header.
    """
    digest = hashlib.sha256()
    for name, value in sorted((name.lower(), value) for name, value in headers):
        if name not in _NOT_THE_CALLER:
            for part in (name, value):
                digest.update(len(part).to_bytes(8) + part.encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


class TableGrants:
    """Reads the answers by which a catalog gives tables to callers.

    With ``own_credentials``, tables without lent credentials are read with those of this server.
    """

    def __init__(self, *, own_credentials: bool = False) -> None:
        self._own_credentials = own_credentials

    def table(self, document: Any, grant: str) -> ServedTable:
        """Return the table in an answer of the catalog.

        ``grant`` names the caller and the resource, so that nothing that is kept of the table
        serves another caller.

        Raises:
            StorageError: It is no table, or none that can be read.
            UnsupportedError: The client must plan its scans.
        """
        try:
            location = str(document["metadata"]["location"])
            path = str(document["metadata-location"])
            settings = self.settings(document)
            bounds = self.bounds(document)
        except UnsupportedError:
            raise
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
            why = f"answered with no table that can be read: {type(error).__name__}"
            raise failed_upstream(why) from error
        return ServedTable(
            path=path,
            document=document["metadata"],
            metadata=parsed(document["metadata"]),
            io=load_file_io(settings, location=location),
            credentials=document.get("storage-credentials") or None,
            grant=grant,
            bounds=bounds,
        )

    def check(self, document: Any) -> None:
        """Check that scans of a table can be planned here, as far as its metadata tells.

        Raises:
            UnsupportedError: The client must plan its scans.
        """
        self.settings(document)
        self.bounds(document)

    def settings(self, document: Any) -> dict[str, str]:
        """Return the settings that reach the table's files: lent credentials, and nothing else.

        Raises:
            UnsupportedError: No credentials for the table's location were lent.
        """
        location = str(document["metadata"]["location"])
        lent = _lent(_of_location(document, location), location)
        if lent is not None:
            return lent
        if self._own_credentials:
            return {}
        raise UnsupportedError(
            "This server does not plan scans of the table: the catalog behind lent no credentials "
            f"for {location}, and the server's own are not used for callers.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="Let the client plan the scan (scan-planning-mode=client), have the catalog vend "
            "credentials, or, where all callers may read what the server may, start it with "
            "--own-credentials.",
        )

    @staticmethod
    def bounds(document: Any) -> TableBounds:
        """Return the table's folder, once the paths in its metadata are known to lie there.

        Raises:
            UnsupportedError: One of them lies outside.
        """
        metadata = document["metadata"]
        bounds = TableBounds(str(metadata["location"]))
        lists = [one.get("manifest-list") for one in metadata.get("snapshots") or ()]
        bounds.check_metadata(
            [str(document["metadata-location"]), *(str(path) for path in lists if path)]
        )
        properties = metadata.get("properties") or {}
        # where new data files go; those that are there are checked when they are planned
        places = [f"{properties[name]}/x" for name in _PLACES if properties.get(name)]
        bounds.check_metadata(places)
        return bounds


def _of_location(document: Any, location: str) -> dict[str, str]:
    """Return the configuration of a table, with the credentials of the longest prefix."""
    config = document.get("config") or {}
    fitting = [
        one
        for one in document.get("storage-credentials") or ()
        if location.startswith(one["prefix"])
    ]
    best: Any = max(fitting, key=lambda one: len(one["prefix"]), default={"config": {}})
    return {str(k): str(v) for k, v in {**config, **best["config"]}.items()}


def _lent(config: Mapping[str, str], location: str) -> dict[str, str] | None:
    """Return the settings of lent credentials for a location; ``None`` if none were lent.

    Settings are left out that would load code, assume a role or read a profile with the rights of
    this server.
    """
    scheme = location.partition(":")[0].lower()
    match scheme:
        case "s3" | "s3a" | "s3n":
            lent = _renamed(config, _S3)
            whole = lent.keys() >= {"s3.access-key-id", "s3.secret-access-key"}
        case "gs" | "gcs":
            lent = _renamed(config, _GCS)
            whole = "gcs.oauth2.token" in lent
        case "abfs" | "abfss" | "wasb" | "wasbs":
            lent = _azure(config, location)
            whole = bool(lent)
        case _:
            return None
    return lent if whole else None


def _renamed(config: Mapping[str, str], names: Mapping[str, tuple[str, ...]]) -> dict[str, str]:
    found = {}
    for name, spellings in names.items():
        value = next((config[one] for one in spellings if config.get(one)), None)
        if value is not None:
            found[name] = value
    return found


def _azure(config: Mapping[str, str], location: str) -> dict[str, str]:
    """Return the token or key of a location's storage account."""
    account = _AZURE_HOST.match(location)
    if account is None:
        return {}
    host, name = account.groups()
    for secret in ("adls.sas-token", "adls.account-key"):
        for spelled in (f"{secret}.{host}", f"{secret}.{name}", secret):
            if config.get(spelled):
                # readers look under either name
                value = config[spelled]
                return {secret: value, f"{secret}.{host}": value, "adls.account-name": name}
    return {}


def failed_upstream(why: str) -> StorageError:
    """Return the error for a catalog behind that did not do what it was asked."""
    return StorageError(
        f"The catalog behind the server {why}.",
        kind=ErrorKind.STORAGE_FAILED,
        hint="Try again. Check the catalog address that the server was started with.",
    )
