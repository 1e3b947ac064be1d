"""Settings of Hadoop's file systems and Iceberg's file IO as settings of our storages."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lakesieve.storage.location import normalized
from lakesieve.storage.trust import TRUSTED_ROOTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["StorageOptions", "hadoop_options"]

_S3A = "fs.s3a."
# Hadoop's name and obstore's
_S3_NAMES = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint": "endpoint",
    "endpoint.region": "region",
}
# Iceberg's name and obstore's
_FILE_IO_NAMES = {
    "s3.access-key-id": "access_key_id",
    "s3.secret-access-key": "secret_access_key",
    "s3.session-token": "session_token",
    "s3.endpoint": "endpoint",
    "client.region": "region",
    "s3.region": "region",
}


_CREDENTIALS = frozenset({"access_key_id", "secret_access_key", "session_token"})


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageOptions:
    """The storage options of each location; equal values give equal options.

    Args:
        conf: Hadoop's settings.
        trusted: Folders, separated by commas, below which indexes may lie that other indexes share
            objects with.
        file_io: Properties of a table's own file IO, for what Hadoop's settings leave open.
        source: Reads Hadoop's current settings.
        vended: Reads the current properties of the file IO: Iceberg renews the credentials that a
            catalog has vended.
    """

    conf: Mapping[str, str] = field(repr=False)
    trusted: str = ""
    file_io: Mapping[str, str] = field(default_factory=dict, repr=False)
    source: Callable[[], Mapping[str, str]] | None = field(default=None, repr=False, compare=False)
    vended: Callable[[], Mapping[str, str]] | None = field(default=None, repr=False, compare=False)

    def __call__(self, location: str) -> dict[str, str]:
        """Settings for one location, as they were read."""
        options = hadoop_options(self.conf, location)
        other = _file_io_options(self.file_io, location)
        if "access_key_id" in options:
            # keys belong together
            other = {name: value for name, value in other.items() if name not in _CREDENTIALS}
        trusted = {TRUSTED_ROOTS: self.trusted} if self.trusted else {}
        return {**other, **options, **trusted}

    def of_table(self, file_io: Mapping[str, str]) -> StorageOptions:
        """The same for the locations of a table whose file IO has these properties."""
        return replace(self, file_io=file_io, vended=None)

    def renewed(self, location: str) -> dict[str, str]:
        """The current settings for one location."""
        conf = self.source() if self.source else self.conf
        file_io = self.vended() if self.vended else self.file_io
        return replace(self, conf=conf, file_io=file_io)(location)


def hadoop_options(conf: Mapping[str, str], location: str) -> dict[str, str]:
    """Storage options with which a location is reached as Hadoop's file systems reach it.

    What the settings leave open is looked for in the environment: variables, profiles, and the
    identity of the machine.

    Args:
        conf: Hadoop settings, such as ``fs.s3a.endpoint``; those of one bucket,
            ``fs.s3a.bucket.<name>.endpoint``, come before those of all. Others are ignored.
        location: The location.
    """
    normal = normalized(location)
    if not normal.startswith("s3://"):
        return {}
    bucket = normal.removeprefix("s3://").partition("/")[0]
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


def _file_io_options(properties: Mapping[str, str], location: str) -> dict[str, str]:
    """Storage options with which Iceberg's own file IO reaches a location.

    Args:
        properties: Of a table's file IO, such as ``s3.endpoint`` and ``s3.access-key-id``, with the
            credentials that its catalog vended. Others are ignored.
        location: The location.
    """
    if not normalized(location).startswith("s3://"):
        return {}
    names = _FILE_IO_NAMES.items()
    options = {ours: properties[theirs] for theirs, ours in names if properties.get(theirs)}
    return _completed(options, properties.get("s3.path-style-access", ""))


def _completed(options: dict[str, str], path_style: str) -> dict[str, str]:
    if options.get("endpoint", "").startswith("http://"):
        options["allow_http"] = "true"
    if path_style.lower() == "true":
        options["virtual_hosted_style_request"] = "false"
    return options
