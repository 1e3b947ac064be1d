"""What ``write_jar`` gives."""

from __future__ import annotations

from dataclasses import dataclass

EXTENSION = "lakesieve.LakesieveExtensions"
"""What ``spark.sql.extensions`` names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JarInfo:
    """A jar that was written.

    Args:
        path: Where it is.
        spark: The version of Spark that it is for, such as ``4.1``.
        formats: The table formats whose scans it knows.
        classes: How many classes it has.
        size: Its bytes.
    """

    path: str
    spark: str
    formats: tuple[str, ...]
    classes: int
    size: int
