"""Results that a shell and a notebook show like the command line does."""

from __future__ import annotations

from typing import TypeVar

from lakesieve.printable import renderer

Item = TypeVar("Item")


class Shown:
    """A result that ``str`` and notebooks show as text."""

    __slots__ = ()

    def __str__(self) -> str:
        return renderer().plain(self)

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        return renderer().html(self)


class ShownList(list[Item]):
    """A list of results that a shell and a notebook show as one table."""

    def __repr__(self) -> str:
        return renderer().plain(self)

    def _repr_html_(self) -> str:
        """Return the HTML that a notebook shows."""
        return renderer().html(self)
