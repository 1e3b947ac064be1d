"""Rounds of maintenance as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.report.units import count, duration, plural, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.index.maintenance import MaintenanceStep, TableMaintenance

# as plans of infrastructure are written
_SIGNS = {"create": "+", "vacuum": "-", "drift": "!", "undeclared": "?"}


def step_line(table: str, step: MaintenanceStep) -> str:
    """One step, as it is reported while others go on."""
    index = f", index {step.index}" if step.index else ""
    if step.error is not None:
        return f"{table}{index}: {step.action} failed: {step.error}"
    return f"{table}{index}: {step.action}: {step.detail} ({duration(step.seconds)})"


def maintenance_lines(rounds: Sequence[TableMaintenance]) -> list[str]:
    """Return what was done to each table, or would be, one step a line."""
    lines: list[str] = []
    steps = [step for one in rounds for step in one.steps]
    for one in rounds:
        lag = f", {plural(one.lag_files, 'file')} not indexed" if one.lag_files else ""
        lines.append(f"{one.table}: {plural(one.files, 'data file')}{lag}, {size(one.bytes)}")
        if one.error is not None:
            lines.append(f"  ! {one.error}")
        for step in one.steps:
            sign = "!" if step.error is not None else _SIGNS.get(step.action, "~")
            index = f" {step.index}" if step.index else ""
            outcome = f" failed: {step.error}" if step.error is not None else ""
            lines.append(f"  {sign} {step.action}{index}: {step.detail}{outcome}")
        if not one.steps and one.error is None:
            lines.append("  as declared")
    due = sum(step.error is None and step.action not in {"drift", "undeclared"} for step in steps)
    # a table that cannot be looked at has no steps
    failed = sum(step.error is not None for step in steps)
    failed += sum(one.error is not None for one in rounds)
    if any(one.dry_run for one in rounds):
        wrong = f" {count(failed)} failed." if failed else ""
        lines.append(f"Due: {plural(due, 'step')}. Nothing was done.{wrong}")
    else:
        lines.append(f"Done: {plural(due, 'step')}; {count(failed)} failed.")
    return lines
