"""A report of a table as one page of HTML, which needs nothing else to be shown."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from lakesieve.index.reasons import Reason, ReasonCode
from lakesieve.report import units
from lakesieve.report.html import rendered
from lakesieve.report.pictures import (
    commit_bars,
    curve_picture,
    files_of_key_bars,
    layout_picture,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lakesieve.advisor.recent import RecentQueries, RecentQuery
    from lakesieve.index.overview import IndexOverview, TableOverview

# deltas of an index that each look-up visits
_MANY_SEGMENTS = 32
# share of its files that an index covers for nothing
_GONE = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Advice:
    """Something to do, and how."""

    text: str
    command: str


def report_page(
    overview: TableOverview, *, recent: RecentQueries | None = None, redact: bool = False
) -> str:
    """Render a report.

    Returns:
        HTML with all of its styles and pictures in it, everything that comes from the table
        escaped. It fetches nothing and runs no script.
    """
    queries = _queries(recent)
    advice = [_advice(overview, index, queries) for index in overview.indexes]
    anchors = [f"index-{number}" for number in range(1, len(advice) + 1)]
    names = [index.info.name for index in overview.indexes]
    deletes = overview.deletes
    has_deletes = deletes is not None and bool(deletes.equality or deletes.positions)
    codes = sorted({code for query in queries for code in query.reasons})
    return rendered(
        "table.html.jinja",
        command="report",
        title=overview.table,
        toc=[
            ("indexes", "Indexes"),
            *([("deletes", "Row-level deletes")] if has_deletes else []),
            *([("queries", "The latest queries")] if recent is not None else []),
            *zip(anchors, names, strict=True),
        ],
        verdict=_verdict(overview, queries),
        to_do=[
            (name, anchor, one)
            for name, anchor, found in zip(names, anchors, advice, strict=True)
            for one in found
        ],
        table=overview,
        has_deletes=has_deletes,
        committed=_moment(overview.timestamp_ms),
        redact=redact,
        recent=recent,
        conditions=[query.shape if redact else query.text for query in queries],
        reasons=[Reason(code=ReasonCode(code), detail="") for code in codes],
        indexes=[
            _section(overview, index, found) | {"anchor": anchor}
            for index, found, anchor in zip(overview.indexes, advice, anchors, strict=True)
        ],
    )


def _verdict(table: TableOverview, queries: Sequence[RecentQuery]) -> dict[str, str] | None:
    """Return what the indexes leave: of the latest queries, or else of look-ups of one key."""
    if queries:
        before = sum(query.left_by_format for query in queries)
        after: float = sum(query.left for query in queries)
        of = f"for the latest {units.plural(len(queries), 'query', 'queries')}"
        return {"before": units.count(before), "after": units.figure(after, "files"), "of": of}
    layouts = [(index.info.name, index.layout) for index in table.indexes if index.layout]
    if not layouts:
        return None
    name, best = max(layouts, key=lambda one: one[1].kept_by_bounds / max(one[1].kept, 1))
    before_text = units.count(round(best.kept_by_bounds))
    after_text = units.figure(best.kept, "files")
    return {"before": before_text, "after": after_text, "of": f"for a key of {name}, on average"}


def _section(
    table: TableOverview, index: IndexOverview, advice: Sequence[_Advice]
) -> dict[str, object]:
    layout = index.layout
    of_unit = "files" if index.info.rows_per_block is None else "row blocks"
    return {
        "of": index,
        "info": index.info,
        "seen": table.files - index.uncovered,
        "share": units.percent(table.files - index.uncovered, table.files),
        "advice": advice,
        "picture": None if layout is None else layout_picture(layout),
        "files_of_key": [] if layout is None else files_of_key_bars(layout),
        "commits": commit_bars(index.commits),
        "curve": curve_picture(index.curve, index.info.bits_per_row, of=of_unit),
        "of_unit": of_unit,
        "unit": units.unit_name(index.info.rows_per_block),
    }


def _queries(recent: RecentQueries | None) -> Sequence[RecentQuery]:
    return () if recent is None else recent.queries


def _moment(milliseconds: int | None) -> str | None:
    if milliseconds is None:
        return None
    return f"{datetime.fromtimestamp(milliseconds / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"


def _advice(
    table: TableOverview, index: IndexOverview, queries: Sequence[RecentQuery]
) -> list[_Advice]:
    """Return what there is to do about an index."""
    of_index = f"{table.table} {index.info.name}"
    found = []
    if index.error is not None:
        repair = f"lakesieve repair {of_index} --dry-run"
        return [_Advice(text=f"It cannot be read: {index.error}", command=repair)]
    if index.uncovered:
        files = units.plural(index.uncovered, "data file")
        text = f"Not indexed yet: {files}, which every query reads."
        found.append(_Advice(text=text, command=f"lakesieve refresh {of_index}"))
    covered = index.info.files
    if covered and index.gone >= _GONE * covered:
        text = f"{units.count(index.gone)} of its {units.count(covered)} files have left the table."
        found.append(_Advice(text=text, command=f"lakesieve compact {of_index}"))
    elif index.info.segments > _MANY_SEGMENTS:
        text = f"{units.count(index.info.segments)} segments, of which a look-up may visit many."
        found.append(_Advice(text=text, command=f"lakesieve compact {of_index}"))
    return found + _doubts(table, index, queries)


def _doubts(
    table: TableOverview, index: IndexOverview, queries: Sequence[RecentQuery]
) -> list[_Advice]:
    """Return whether an index seems to save nothing, and what to do about that.

    How the keys lie is a guess at what queries gain. A query that reads fewer files by the index
    refutes it, and only queries that the index serves without any gain confirm it.
    """
    layout = index.layout
    if layout is None or layout.files <= 1:
        return []
    served = [query for query in queries if index.info.name in query.indexes]
    if any(query.left < query.left_by_format for query in served):
        return []
    if layout.kept > 0.5 * layout.files:
        text = "A key is in more than half of the files: no index can leave out many."
    elif layout.kept_by_bounds <= 1.2 * layout.kept:
        text = (
            "Minimum and maximum leave out about as many files as the index, because the table is "
            "clustered by this column."
        )
    else:
        return []
    if served:
        return [_Advice(text=text, command=f"lakesieve drop {table.table} {index.info.name}")]
    text += " Before you drop the index, check with an event log whether your queries need it."
    return [_Advice(text=text, command=f"lakesieve advise {table.table} --event-log PATH")]
