"""Translate failures of an object store into typed errors that name the cause."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import AlreadyExistsError, PermissionDeniedError, UnauthenticatedError

from lakesieve.errors import (
    ErrorKind,
    LakesieveError,
    NotFoundError,
    StorageError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

_CODE = re.compile(r"<Code>\s*([A-Za-z0-9_.\-]{1,80})\s*</Code>")
_STATUS = re.compile(r"status code: (\d{3})\b")
# error codes of S3 and of servers with its protocol
_CREDENTIAL_CODES = frozenset(
    {
        "AuthorizationHeaderMalformed",
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidAccessKeyId",
        "InvalidClientTokenId",
        "InvalidSecurity",
        "InvalidToken",
        "RequestExpired",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
        "TokenRefreshRequired",
        "XAdminUserNotFound",
    }
)
_NO_BUCKET = "NoSuchBucket"
# messages of a full local disk, a full HDFS, and full servers with the S3 protocol
_FULL = re.compile(
    r"os error (?:28|122)\b|\[Errno (?:28|122)\]|No space left|[Qq]uota ?(?:is )?exceeded"
    r"|(?:DS|NS)QuotaExceeded"
)
_FULL_CODES = frozenset({"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull"})
# addresses where a client without credentials asks for those of the machine: AWS, ECS, EKS, Google
_MACHINE = ("http://169.254.", "http://[fd00:ec2::254]", "http://metadata.google.internal")


@contextlib.contextmanager
def typed_errors(location: str, *, root: str) -> Iterator[None]:
    """Translate errors of the store into errors of this package.

    Raises:
        NotFoundError: The object does not exist.
        StorageError: Any other failure; ``kind`` says which.
    """
    try:
        yield
    except LakesieveError:
        raise
    except FileNotFoundError as error:
        raise _refused(location, str(error)) or missing(location) from error
    except (AlreadyExistsError, FileExistsError) as error:
        raise StorageError(f"{location} exists.", kind=ErrorKind.ALREADY_EXISTS) from error
    except (PermissionError, PermissionDeniedError, UnauthenticatedError) as error:
        raise _refused(location, str(error)) or read_only(location) from error
    except (obstore.exceptions.BaseError, OSError, ValueError) as error:
        if root.startswith("/") and not Path(root).is_dir():
            raise missing(location) from error
        text = str(error)
        refused = _refused(location, text)
        if refused is not None:
            raise refused from error
        first = text.split("\n", 1)[0]
        if any(sign in first for sign in ("os error 13", "os error 30", "Permission denied")):
            raise read_only(location) from error
        code = _CODE.search(text)
        if _FULL.search(first) or (code and code.group(1) in _FULL_CODES):
            raise StorageError(
                f"{location}: no space is left, or a quota is used up.",
                kind=ErrorKind.STORAGE_FULL,
                hint="Free some space. lakesieve vacuum deletes objects that indexes no longer "
                "need.",
            ) from error
        message = f"{first} ({code.group(1)})" if code else first
        raise StorageError(
            f"{location}: {message}",
            kind=ErrorKind.STORAGE_FAILED,
            hint="Check that the storage is reachable, and try again.",
            public_message=f"{location} cannot be read or written.",
        ) from error


def _refused(location: str, text: str) -> StorageError | None:
    """Return an error if the store refuses the caller or knows no such bucket, else ``None``."""
    match = _CODE.search(text)
    code = match.group(1) if match else ""
    status = _STATUS.search(text)
    number = status.group(1) if status else ""
    if any(address in text for address in _MACHINE):
        return StorageError(
            f"{location}: no credentials are set, and this machine has none.",
            kind=ErrorKind.CREDENTIALS,
            hint="Set the credentials of the table's catalog (s3.access-key-id), of Hadoop "
            "(fs.s3a.access.key) or of the environment.",
        )
    if code in _CREDENTIAL_CODES or (number == "401" and not code):
        return StorageError(
            f"{location}: the store refuses the credentials ({code or 'status 401'}).",
            kind=ErrorKind.CREDENTIALS,
            hint="Check the access key, the secret key, the session token and its expiry, and the "
            "region.",
        )
    if code == _NO_BUCKET:
        return StorageError(
            f"{location}: the bucket does not exist ({code}).",
            kind=ErrorKind.STORAGE_FAILED,
            hint="Check the bucket's name and the endpoint.",
        )
    if number == "403":
        return StorageError(
            f"{location} cannot be written or read: permission denied ({code or 'status 403'}).",
            kind=ErrorKind.READ_ONLY,
            hint="Check the credentials; give the index another location (location=, --location), "
            "or grant the permission.",
        )
    return None


def missing(location: str) -> NotFoundError:
    """Return the error for an object that does not exist."""
    return NotFoundError(
        f"{location} does not exist.",
        kind=ErrorKind.OBJECT_NOT_FOUND,
        hint="If it was part of an index, build the index again.",
    )


def read_only(location: str) -> StorageError:
    """Return the error for a location that this process may not read or write."""
    return StorageError(
        f"{location} cannot be written or read: permission denied.",
        kind=ErrorKind.READ_ONLY,
        hint="Give the index another location (location=, --location), or grant the permission.",
    )
