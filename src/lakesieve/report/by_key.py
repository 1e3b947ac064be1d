"""Changes by key as text for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lakesieve.report.units import count, duration, percent, plural

if TYPE_CHECKING:
    from lakesieve.index.result import RowChange, TableStatus

# rows that are shown even if there are none
_ALWAYS = {
    "upsert": ("inserted", "updated"),
    "delete": ("deleted",),
    "insert-new": ("inserted",),
}


def change_facts(result: RowChange) -> list[tuple[str, str]]:
    """What an upsert or a delete did, or would do."""
    would = "would be " if result.dry_run else ""
    keys = f"{plural(result.keys, 'key')} by {', '.join(result.on)}"
    facts = [("table", result.table), ("given", keys)]
    if result.known:
        return [*facts, ("done", "nothing: the transaction was committed before")]
    rows = [
        (f"{would}{what}", plural(number, "row"))
        for what, number in (
            ("inserted", result.inserted),
            ("updated", result.updated),
            ("deleted", result.deleted),
        )
        if number or (number == 0 and what in _ALWAYS[result.operation])
    ]
    if result.operation == "insert-new" and result.inserted is not None:
        rows.append(("there already", plural(result.keys - result.inserted, "row")))
    facts += rows
    if result.dry_run:
        return [*facts, ("in", plural(result.files_read or 0, "data file"))]
    if result.files_read is not None:
        facts.append(("searched", plural(result.files_read, "data file")))
    files = [
        f"{count(number)} {what}"
        for what, number in (("written", result.files_added), ("removed", result.files_removed))
        if number is not None
    ]
    indexed = ", ".join(f"{one.index}: {plural(one.files, 'file')}" for one in result.refreshed)
    return [
        *facts,
        ("files", ", ".join(files) or "unknown"),
        ("version", result.version or "none: nothing had to be changed"),
        *([("indexed", indexed)] if indexed else []),
        *(("index", str(reason)) for reason in result.reasons),
        ("time", duration(result.seconds)),
    ]


def table_status_facts(result: TableStatus) -> list[tuple[str, str]]:
    """How much of a table carries row-level deletes, and what to do about it."""
    share = percent(result.marked_files, result.files) if result.files else "0 %"
    marked = f"{count(result.marked_files)} of {plural(result.files, 'data file')}, {share}"
    facts = [
        ("table", f"{result.table} ({result.format})"),
        ("version", result.version or "none yet: the table is empty"),
        (f"with {result.form}", marked),
    ]
    if result.delete_files:
        facts.append(("kept in", plural(result.delete_files, "position delete file")))
    if not result.suggestions:
        return [*facts, ("upkeep", f"not due (suggested above {percent(result.threshold, 1)})")]
    return facts + [("suggested", text) for text in result.suggestions]
