"""The result models of keeping declared indexes up, rendered by ``report``."""

from __future__ import annotations

from dataclasses import dataclass

from lakesieve.index.shown import Shown


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceStep:
    """One thing that was to be done.

    Args:
        action: ``create``, ``refresh``, ``convert``, ``compact`` or ``vacuum``; or ``drift``, an
            index that is not as declared, and ``undeclared``, one that is not declared: these are
            only reported.
        index: The index, if it is of one.
        error: What it failed with.
    """

    action: str
    index: str | None
    detail: str
    done: bool = False
    seconds: float = 0.0
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableMaintenance(Shown):
    """One round of one table.

    Args:
        steps: What was to be done, in order; nothing where all is as declared.
        lag_files: Live data files that some declared index had not seen when the round began.
        lag_seconds: By how much the version that the oldest index has seen was older than the
            current one then; 0 where no files lag.
        bytes: Bytes of the declared indexes after the round.
        error: Why the table could not be looked at.
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
        """Whether nothing failed."""
        return self.error is None and all(step.error is None for step in self.steps)
