"""Refuse Iceberg tables that Spark cannot read, with a clear reason."""

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
def readable(name: str, schema: str) -> Iterator[None]:
    """Refuse a table that Spark cannot read at all, with a clear reason.

    One column with a type that Spark does not know makes the whole table unreadable. Tables of
    format version 1 may give several partition fields the same number. Then Spark cannot read
    columns such as ``_file``.

    Raises:
        UnsupportedError: It is such a table.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException, UnsupportedOperationException

    try:
        yield
    except UnsupportedOperationException as error:
        message = str(error).splitlines()[0]
        culprits = fields_of_type(schema, set(re.findall(r"\w+", message)))
        raise UnsupportedError(
            f"Spark cannot read {name} because of its column "
            f"{', '.join(culprits) or '(unknown)'}: {message}.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="This version of Spark cannot read the table at all. Drop or convert the "
            "column first.",
        ) from error
    except (Py4JJavaError, PySparkException) as error:
        conflict = _CONFLICTING.search(str(error))
        if conflict is None:
            raise
        raise UnsupportedError(
            f"Iceberg cannot tell the partitions of {name} apart: {conflict[0]}.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="A table of format version 1 may use one field id for several partition fields. "
            "Copy the table into a new one: CREATE TABLE ... AS SELECT.",
        ) from error
