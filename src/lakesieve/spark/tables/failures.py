"""Explain the failures of lakesieve's own Spark jobs in one line."""

from __future__ import annotations

import re

from lakesieve.errors import ErrorKind, LakesieveError, SetupError, StorageError

# Spark 3.5 does not name the file that it was reading
_UNREADABLE = re.compile(
    r"while reading file|FAILED_READ_FILE|is not a Parquet file|Checksum error"
)
_FILE = re.compile(r"while reading file (\S+)|Exception: (\S[^\n]{0,4000}?) is not a Parquet file")
_MISSING = re.compile(r"ModuleNotFoundError: No module named '(lakesieve|pyarrow|numpy|obstore)")
_CAUSE = re.compile(r"Caused by: (?:[\w$]+\.)+([\w$]+): ([^\n]+)")


def explained(error: Exception) -> LakesieveError | None:
    """Return a clear error for one of Spark's errors, or ``None`` if Spark's error is clear."""
    if isinstance(error, LakesieveError):
        return None
    text = str(error)
    missing = _MISSING.search(text)
    if missing is not None:
        return SetupError(
            f"The Python of the executors does not have the package {missing[1]}.",
            kind=ErrorKind.DEPENDENCY_MISSING,
            hint="Send the package with lakesieve.ship(spark). Or install it on the executors, and "
            "point PYSPARK_PYTHON, or spark.pyspark.python, at that Python before the session "
            "starts.",
        )
    if _UNREADABLE.search(text) is None:
        return None
    file = _FILE.search(text)
    name = "A data file" if file is None else f"The data file {(file[1] or file[2]).rstrip('.')}"
    causes = _CAUSE.findall(text)
    why = f": {causes[-1][0]}: {causes[-1][1]}" if causes else ""
    return StorageError(
        f"{name} cannot be read{why}",
        kind=ErrorKind.STORAGE_FAILED,
        hint="Nothing was committed. Repair or remove the file, and try again.",
    )
