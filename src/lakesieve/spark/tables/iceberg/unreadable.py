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
def readable(name: str, schema: str) -> Iterator[None]:
    """Refuse by name a table that Spark cannot read, whatever is asked of it.

    One column of a type that Spark does not know makes the whole table unreadable. Tables of format
    version 1 may number different partition fields alike; columns such as ``_file`` cannot be read
    of them.

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
            hint="No query of this Spark version can read the table; drop or convert the "
            "column first.",
        ) from error
    except (Py4JJavaError, PySparkException) as error:
        conflict = _CONFLICTING.search(str(error))
        if conflict is None:
            raise
        raise UnsupportedError(
            f"Iceberg cannot tell the partitions of {name} apart: {conflict[0]}.",
            kind=ErrorKind.UNSUPPORTED_TABLE,
            hint="A table of format version 1 gave one number to several partition fields; "
            "copy it into a new table: CREATE TABLE ... AS SELECT.",
        ) from error
