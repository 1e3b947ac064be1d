"""The files of one table version for a predicate: the one answer that every surface shows.

Functions, commands, reports and the advisor's page of recent queries all call
:func:`matching_files`: first the statistics of the table format leave out files, as an engine's
scan does, then indexes leave out more.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from lakesieve.errors import ErrorKind, InvalidInputError
from lakesieve.index.first_rows import first_rows
from lakesieve.index.needed_rows import NeededRows
from lakesieve.index.reasons import Reason, ReasonCode, uncovered_detail
from lakesieve.index.result import FileMatches
from lakesieve.index.scan_decision import ScanDecision, column_types, plan
from lakesieve.predicate import (
    AlwaysTrue,
    bind,
    exact_values,
    rows_where,
)
from lakesieve.predicate.expression import And
from lakesieve.predicate.given import expression_of
from lakesieve.tables.arrow_schema import arrow_schema
from lakesieve.tables.contract import HasFileStatistics
from lakesieve.tables.statistics import MOST_FILES, restricted_fields

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lakesieve.index.access import TableAccess
    from lakesieve.index.judged_files import JudgedFiles
    from lakesieve.index.opened import OpenedIndex
    from lakesieve.index.row_order import RowOrder
    from lakesieve.predicate import Expr, RowFilter
    from lakesieve.tables import Column, TableReader, TableVersion


_EVERY_ROW: Expr = And(args=())


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class MatchingFiles:
    """Which live data files of a version can hold a match.

    Args:
        by_format: Whether the format's own statistics leave each live file.
        keep: Whether each live file must be read: indexes and statistics both leave it.
        judged: What the indexes say of the live files.
        uncovered: How many of the files that must be read no index has seen; 0 where no index
            takes part.
    """

    by_format: np.ndarray
    keep: np.ndarray
    judged: JudgedFiles
    uncovered: int
    planned: ScanDecision
    reasons: tuple[Reason, ...]


def matching_files(
    table: TableReader,
    version: TableVersion,
    expression: Expr,
    indexes: Sequence[OpenedIndex],
    *,
    live: pa.ChunkedArray,
    strict: bool,
    timezone: str = "UTC",
    order: RowOrder | None = None,
    exact: Expr | None = None,
) -> MatchingFiles:
    """Find the data files that can hold a row for which an expression is true.

    ``live`` has the paths of the version's live files, as ``live_files`` spells them. If ``strict``
    is true, an unknown column is an error. Otherwise, every row may match a condition on an unknown
    column. With ``order``, only the first rows in this order are wanted. Rows are counted for it if
    ``exact`` is given: the same condition, which is true of no other rows.
    """
    columns = table.columns(version)
    first: RowFilter | None = None
    in_order: list[Reason] = []
    if order is not None:
        rows = None
        if exact is not None:
            types = column_types(columns)
            rows = exact_values(bind(exact, types, timezone=timezone, strict=False))
        first, reason = first_rows(table, version, order, indexes, live=live, rows=rows)
        in_order = [reason]
    planned = plan(
        columns,
        expression,
        indexes,
        table.uuid,
        strict=strict,
        needed=NeededRows(row_filter=first),
        timezone=timezone,
    )
    by_format, unread = _by_format(table, version, expression, live, timezone)
    judged = planned.plan.of(live)
    keep = judged.keep & by_format
    uncovered = int((keep & ~judged.covered).sum()) if planned.plan.indexes else 0
    reasons = [*in_order, *_with_next_step(planned, table.name, columns), *unread]
    if uncovered:
        detail = uncovered_detail(uncovered)
        reasons.append(Reason(code=ReasonCode.UNCOVERED_FILES, detail=detail))
    return MatchingFiles(
        by_format=by_format,
        keep=keep,
        judged=judged,
        uncovered=uncovered,
        planned=planned,
        reasons=tuple(reasons),
    )


def _by_format(
    table: TableReader,
    version: TableVersion,
    expression: Expr,
    live: pa.ChunkedArray,
    timezone: str,
) -> tuple[np.ndarray, list[Reason]]:
    """Return the files that the format's statistics leave, and why some were not used."""
    everything = np.ones(len(live), bool)
    if not isinstance(table, HasFileStatistics):
        return everything, []
    try:
        statistics = table.file_statistics(version)
        if statistics is None:
            return everything, []
        lacking = [_unread(statistics.lacking)] if statistics.lacking else []
        types = column_types(statistics.columns)
        rows = rows_where(bind(expression, types, timezone=timezone, strict=False))
        if isinstance(rows, AlwaysTrue):
            return everything, lacking
        if len(live) > MOST_FILES:
            detail = f"the statistics of more than {MOST_FILES:,} files are not read"
            return everything, [_unread(detail)]
        return statistics.may_match(rows, live), lacking
    except Exception as error:  # noqa: BLE001 - every file is read
        first = str(error).strip().partition("\n")[0]
        return everything, [_unread(f"{type(error).__name__}: {first}")]


def _unread(detail: str) -> Reason:
    return Reason(code=ReasonCode.STATISTICS_UNREAD, detail=detail)


def _with_next_step(
    planned: ScanDecision, table: str, columns: Mapping[tuple[str, ...], Column]
) -> list[Reason]:
    """Return the reasons of a plan. If no index took part, add which index would help."""
    if planned.plan.used:
        return list(planned.reasons)
    alone = (usable for usable in planned.usable if usable.key_of_many is None)
    leading = {usable.columns[0].field_id for usable in alone}
    wanted = restricted_fields(planned.row_filter) - leading
    names = [".".join(path) for path, c in columns.items() if c.field_id in wanted]
    detail = "the table has no index" if not planned.usable else ""
    if names:
        steps = " or ".join(
            f"lakesieve create {shlex.quote(table)} {shlex.quote(name)}" for name in names
        )
        detail = f"none is on {', '.join(names)}; {steps} makes one"
    others = [reason for reason in planned.reasons if reason.code is not ReasonCode.NO_INDEX]
    return [*others, *([Reason(code=ReasonCode.NO_INDEX, detail=detail)] if detail else [])]


def find(
    table: TableReader,
    indexes: Sequence[OpenedIndex],
    reasons: Sequence[Reason],
    predicate: str | Any | None,
    version: str | int | None = None,
    *,
    access: TableAccess,
    order: RowOrder | None = None,
) -> FileMatches:
    """Return the data files of a version that can hold a row for which the predicate is true.

    The predicate is SQL text, or an expression of PyIceberg, Polars or Arrow; the version a
    snapshot id, time, tag or branch, ``None`` for the current one. ``reasons`` tell why other
    indexes could not be opened. With an order, only the first rows are wanted, and the predicate
    may be ``None``.
    """
    if predicate is None and order is None:
        raise InvalidInputError(
            "There is neither a condition nor an order.",
            kind=ErrorKind.INVALID_ARGUMENT,
            hint="Give a condition such as 'id = 5', or an order and a limit.",
        )
    resolved = table.version(version)
    columns = table.columns(resolved)
    expression: Expr = _EVERY_ROW
    exact: Expr | None = _EVERY_ROW
    if predicate is not None:
        expression = expression_of(predicate, lambda: arrow_schema(columns, uuids=pa.uuid()))
        # the filters of other libraries may be read as conditions that are true of more rows
        exact = expression if isinstance(predicate, str) else None
        if any(index.definition.expressions for index in indexes):
            expression = _with_expressions(expression, table, resolved, predicate, access)
    files = table.live_files(resolved)
    live = files.column("path")
    matches = matching_files(
        table,
        resolved,
        expression,
        indexes,
        live=live,
        strict=True,
        timezone=access.timezone(),
        order=order,
        exact=exact,
    )
    shown = files.column("location") if "location" in files.column_names else live
    return FileMatches(
        paths=shown.filter(pa.array(matches.keep)).to_pylist(),
        total=len(live),
        left_by_format=int(matches.by_format.sum()),
        uncovered=matches.uncovered,
        reasons=(*reasons, *matches.reasons),
        version=resolved.id,
        table=table.name,
        predicate=" ".join(str(part) for part in (predicate, order) if part is not None),
        indexes=matches.planned.plan.used,
        condition=matches.planned.condition(columns),
        **_in_rows(matches, files),
    )


def _with_expressions(
    expression: Expr,
    table: TableReader,
    version: TableVersion,
    predicate: str | Any,
    access: TableAccess,
) -> Expr:
    """Add what an engine understands of a predicate. Both are true of every row that is wanted."""
    if access.engine_condition is None or not isinstance(predicate, str):
        return expression
    understood = access.engine_condition(table, version, predicate)
    return expression if understood is None else And(args=(expression, understood))


def _in_rows(matches: MatchingFiles, files: pa.Table) -> dict[str, Any]:
    """Return the rows to read of each kept file, and their number, if an index names rows."""
    rows = matches.judged.rows
    if rows is None:
        return {}
    of_format = pc.fill_null(files.column("records"), -1).to_numpy()
    records = np.where(matches.judged.covered, matches.judged.records, of_format)
    is_part = ~rows.is_whole
    # the last block of a file ends with the file
    lengths = rows.lengths(records)
    ranges: dict[int, list[tuple[int, int]]] = {}
    parts = (part[is_part].tolist() for part in (rows.files, rows.rows[0], lengths))
    for file, start, length in zip(*parts, strict=True):
        ranges.setdefault(file, []).append((start, start + length))
    kept = np.flatnonzero(matches.keep)
    row_ranges = tuple(tuple(ranges[at]) if at in ranges else None for at in kept.tolist())
    result: dict[str, Any] = {"row_ranges": row_ranges}
    if (records[kept] >= 0).all():
        result["rows_total"] = int(records[kept].sum())
        result["rows_read"] = int(lengths[matches.keep[rows.files]].sum())
    return result
