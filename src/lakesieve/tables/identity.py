"""Whether a table that was opened is still the one that has its name."""

from __future__ import annotations

from lakesieve.errors import ErrorKind, NotFoundError

__all__ = ["check_identity"]


def check_identity(name: str, opened: str, now: str) -> None:
    """Insist that a name leads to the table that was opened.

    Args:
        name: As the user called the table.
        opened: The identity, or the location, that it had when it was opened.
        now: That of the table to which the name leads after a reload.

    Raises:
        NotFoundError: ``TABLE_REPLACED``: it leads to another one.
    """
    if opened == now:
        return
    raise NotFoundError(
        f"{name} is another table now: the one that was opened was dropped, renamed or moved.",
        kind=ErrorKind.TABLE_REPLACED,
        hint="Open the index again, under the table's new name if it was renamed.",
    )
