"""The files of one table version for a predicate given as SQL text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from lakesieve.index.read_plan import plan
from lakesieve.index.reasons import Reason, ReasonCode, uncovered_detail
from lakesieve.index.result import Found

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.index.opened import OpenedIndex
    from lakesieve.tables import TableReader

__all__ = ["find"]


def find(
    table: TableReader,
    indexes: Sequence[OpenedIndex],
    reasons: Sequence[Reason],
    predicate: str,
    version: str | int | None = None,
    *,
    timezone: str = "UTC",
) -> Found:
    """Data files of a version that can hold a row for which the predicate is true.

    Args:
        table: The table.
        indexes: Its indexes that could be opened.
        reasons: Why others could not.
        predicate: SQL text.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        timezone: For timestamps written without one.

    Raises:
        InvalidInputError: The predicate cannot be understood.
        NotFoundError: An unknown column or version.
    """
    # the parser takes its time to load, and is of use here alone
    from lakesieve.predicate.parse import parse_sql

    resolved = table.version(version)
    expression = parse_sql(predicate)
    planned = plan(
        table.columns(resolved), expression, indexes, table.uuid, strict=True, timezone=timezone
    )
    files = table.live_files(resolved)
    live = files.column("path")
    shown = files.column("location") if "location" in files.column_names else live
    all_reasons = [*reasons, *planned.reasons]
    keep, covered = planned.plan.of(live)
    paths, uncovered = shown.filter(pa.array(keep)), int((~covered).sum())
    if uncovered and planned.plan.used:
        all_reasons.append(
            Reason(code=ReasonCode.UNCOVERED_FILES, detail=uncovered_detail(uncovered))
        )
    return Found(
        paths=paths.to_pylist(),
        total=len(live),
        uncovered=uncovered,
        reasons=tuple(all_reasons),
        version=resolved.id,
        table=table.name,
        predicate=predicate,
        indexes=planned.plan.used,
    )
