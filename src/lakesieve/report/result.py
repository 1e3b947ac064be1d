"""Result models that only the command line has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lakesieve.index.result import Found

__all__ = ["Dropped", "Explained"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Explained:
    """An answer that is to be told to a person rather than used.

    Args:
        found: The answer.
    """

    found: Found


@dataclass(frozen=True, slots=True, kw_only=True)
class Dropped:
    """An index that was dropped, or would be.

    Args:
        table: The table's name.
        name: The index's name.
        dry_run: It is still there.
    """

    table: str
    name: str
    dry_run: bool
