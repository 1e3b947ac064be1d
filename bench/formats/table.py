"""What each format's tables have in common."""

from __future__ import annotations

import os
import shutil
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from bench.formats.case import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from pyspark.sql import DataFrame

    from bench.formats.case import Case

__all__ = ["FormatTable", "Peer", "linked_copy", "seconds_of", "size_of"]


class FormatTable(Protocol):
    """One table of one format."""

    @property
    def name(self) -> str:
        """As lakesieve calls it."""

    def create(self, case: Case) -> None:
        """Write the table."""

    def read(self, version: str | None = None) -> DataFrame:
        """Its rows, of a version or the newest."""

    def version(self) -> str | None:
        """The newest version; None where the format has none."""

    def append(self, rows: DataFrame) -> None:
        """Add rows."""

    def delete(self, condition: str) -> None:
        """Delete rows."""

    def peers(self, case: Case) -> Iterator[Peer]:
        """The format's own means, each on a copy of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """One of a format's own means.

    Args:
        name: What it is called.
        table: The copy that has it.
        seconds: Time to make it, without the copy's.
        size: Bytes of the index, or by which the table grew.
        kinds: Kinds of questions that it is meant for.
    """

    name: str
    table: FormatTable
    seconds: float
    size: int
    kinds: tuple[str, ...] = KINDS


def seconds_of(action: Callable[[], object]) -> float:
    """Time that something takes once."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def size_of(folder: Path, pattern: str = "**/*") -> int:
    """Bytes of the files in a folder."""
    return sum(path.stat().st_size for path in folder.glob(pattern) if path.is_file())


def linked_copy(source: Path, target: Path) -> None:
    """Copy a table whose log names files by relative paths; data files are shared by hard links."""

    def copy(path: str, to: str) -> None:
        # a data file is never changed in place; what else there is may be
        (os.link if path.endswith(".parquet") else shutil.copy2)(path, to)

    ignore = shutil.ignore_patterns("_lakesieve")
    shutil.copytree(source, target, copy_function=copy, ignore=ignore)
