"""Settings of Hadoop's file systems as settings of this package's storages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.storage.location import normalized

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["hadoop_options"]

_S3A = "fs.s3a."
# Hadoop's name and obstore's
_S3_NAMES = {
    "access.key": "access_key_id",
    "secret.key": "secret_access_key",
    "session.token": "session_token",
    "endpoint": "endpoint",
    "endpoint.region": "region",
}


def hadoop_options(conf: Mapping[str, str], location: str) -> dict[str, str]:
    """Storage options with which a location is reached as Hadoop's file systems reach it.

    What the settings leave open is looked for in the environment: variables, profiles, and the
    identity of the machine.

    Args:
        conf: Hadoop settings, such as ``fs.s3a.endpoint``; those of one bucket,
            ``fs.s3a.bucket.<name>.endpoint``, come before those of all. Others are ignored.
        location: The location.
    """
    place = normalized(location)
    if not place.startswith("s3://"):
        return {}
    bucket = place.removeprefix("s3://").partition("/")[0]
    told = {
        name: value
        for prefix in (_S3A, f"{_S3A}bucket.{bucket}.")
        for name in (*_S3_NAMES, "path.style.access", "connection.ssl.enabled")
        if (value := conf.get(prefix + name, "").strip())
    }
    options = {ours: told[theirs] for theirs, ours in _S3_NAMES.items() if theirs in told}
    if "endpoint" in options and "://" not in options["endpoint"]:
        plain = told.get("connection.ssl.enabled", "true").lower() == "false"
        options["endpoint"] = f"{'http' if plain else 'https'}://{options['endpoint']}"
    if options.get("endpoint", "").startswith("http://"):
        options["allow_http"] = "true"
    if told.get("path.style.access", "").lower() == "true":
        options["virtual_hosted_style_request"] = "false"
    return options
