"""The files of one table version for a predicate as a user gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from lakesieve.index.read_plan import plan
from lakesieve.index.reasons import Reason, ReasonCode, uncovered_detail
from lakesieve.index.result import Found
from lakesieve.predicate.given import expression_of
from lakesieve.tables.arrow_schema import arrow_schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.index.opened import OpenedIndex
    from lakesieve.tables import TableReader

__all__ = ["find"]


def find(
    table: TableReader,
    indexes: Sequence[OpenedIndex],
    reasons: Sequence[Reason],
    predicate: str | Any,
    version: str | int | None = None,
    *,
    timezone: str = "UTC",
) -> Found:
    """Data files of a version that can hold a row for which the predicate is true.

    Args:
        table: The table.
        indexes: Its indexes that could be opened.
        reasons: Why others could not.
        predicate: SQL text, or an expression of PyIceberg, Polars or Arrow.
        version: Snapshot id, time, tag or branch; ``None`` is the current version.
        timezone: For timestamps written without one.

    Raises:
        InvalidInputError: The predicate cannot be understood.
        NotFoundError: An unknown column or version.
    """
    resolved = table.version(version)
    columns = table.columns(resolved)
    expression = expression_of(predicate, lambda: arrow_schema(columns, uuids=pa.uuid()))
    planned = plan(columns, expression, indexes, table.uuid, strict=True, timezone=timezone)
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
        predicate=str(predicate),
        indexes=planned.plan.used,
    )
