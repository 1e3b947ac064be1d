"""The number of data files of a table version with row-level deletes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDeletes:
    """The row-level deletes of one table version.

    Args:
        files: Live data files.
        marked_files: Live data files with row-level deletes.
        delete_files: Position delete files.
        form: What contains the deletes, in the format's own words.
        commands: SQL commands that remove them.
    """

    files: int
    marked_files: int = 0
    delete_files: int = 0
    form: str = "row-level deletes"
    commands: tuple[str, ...] = ()
