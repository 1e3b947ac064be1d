"""Iceberg tables that Spark cannot read, refused by name."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING

from lakesieve.errors import ErrorKind, UnsupportedError
from lakesieve.tables.iceberg.schema import fields_of_type

if TYPE_CHECKING:
    from collections.abc import Iterator

_CONFLICTING = re.compile(r"Conflicting partition fields: \[[^\]\n]*\]")


@contextmanager
def listable(name: str) -> Iterator[None]:
    """Refuse by name a table whose partitions Iceberg cannot tell apart.

    Tables of format version 1 may number different partition fields alike; their metadata
    tables, and their columns such as ``_file``, cannot be read.
    """
    from py4j.protocol import Py4JJavaError

    try:
        yield
    except Py4JJavaError as error:
        conflict = _CONFLICTING.search(str(error))
        if conflict is None:
            raise
        raise UnsupportedError(
            f"Iceberg cannot list the files of {name}: {conflict[0]}.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="A table of format version 1 gave one number to several partition fields; "
            "copy it into a new table: CREATE TABLE ... AS SELECT.",
        ) from error


@contextmanager
def readable(name: str, schema: str) -> Iterator[None]:
    """Refuse by name a table that has columns of types that Spark does not know.

    One such column makes the whole table unreadable, its metadata tables included.
    """
    from pyspark.errors import UnsupportedOperationException

    try:
        with listable(name):
            yield
    except UnsupportedOperationException as error:
        message = str(error).splitlines()[0]
        culprits = fields_of_type(schema, set(re.findall(r"\w+", message)))
        raise UnsupportedError(
            f"Spark cannot read {name} because of its column "
            f"{', '.join(culprits) or '(unknown)'}: {message}.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="No query of this Spark version can read the table; drop or convert the "
            "column first.",
        ) from error
