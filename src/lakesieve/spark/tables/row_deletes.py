"""How many data files of a table version carry row-level deletes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class RowDeletes:
    """What one version of a table carries.

    Args:
        files: Live data files.
        marked_files: Those of them that carry row-level deletes.
        delete_files: Position delete files.
        form: What holds the deletes, in the words of the format.
        commands: SQL that gets rid of them.
    """

    files: int
    marked_files: int = 0
    delete_files: int = 0
    form: str = "row-level deletes"
    commands: tuple[str, ...] = ()
