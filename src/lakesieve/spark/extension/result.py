"""The result of ``write_jar``."""

from __future__ import annotations

from dataclasses import dataclass

EXTENSION = "lakesieve.LakesieveExtensions"
"""Value of ``spark.sql.extensions``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JarInfo:
    """A written jar.

    Args:
        path: Path of the jar.
        spark: The version of Spark for which it is made, such as ``4.1``.
        formats: The table formats whose scans it supports.
        classes: Number of classes in it.
        size: Size in bytes.
        tested: True if lakesieve is tested on this version of Spark.
    """

    path: str
    spark: str
    formats: tuple[str, ...]
    classes: int
    size: int
    tested: bool
