"""Result models of the maintenance of declared indexes. ``report`` renders them."""

from __future__ import annotations

from dataclasses import dataclass

from lakesieve.index.shown import Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceStep:
    """One step of maintenance.

    Args:
        action: ``create``, ``refresh``, ``convert``, ``compact`` or ``vacuum``. Two more are only
            reported: ``drift`` for an index that differs from its declaration, and ``undeclared``
            for an index without declaration.
        index: The index, if the step is about one.
        error: The error, if the step failed.
    """

    action: str
    index: str | None
    detail: str
    done: bool = False
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMaintenance(Shown):
    """One round of maintenance of one table.

    Args:
        steps: The steps in order. Empty if everything is as declared.
        lag_files: Live data files that some declared index did not cover when the round began.
        lag_seconds: Age of the current version minus that of the oldest version indexed last, when
            the round began; 0 if no files lag.
        bytes: Bytes of the declared indexes after the round.
        error: The error, if the table could not be opened.
    """

    table: str
    steps: tuple[MaintenanceStep, ...]
    lag_files: int
    lag_seconds: float
    files: int
    bytes: int
    seconds: float
    dry_run: bool
    error: str | None = None

    @property
    def holds(self) -> bool:
        """True if nothing failed."""
        return self.error is None and all(step.error is None for step in self.steps)
