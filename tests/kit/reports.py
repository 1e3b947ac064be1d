"""What the reports of scans say."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from lakesieve.index.result import TablePruning

__all__ = ["internal_errors"]


def internal_errors(scans: Iterable[TablePruning]) -> list[str]:
    """Return why scans read all files although that is a fault of lakesieve's own."""
    return [str(r) for scan in scans for r in scan.reasons if r.code == "internal-error"]
