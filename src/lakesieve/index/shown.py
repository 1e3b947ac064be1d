"""Results that print as people read them, in a shell and in a notebook."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeVar

Item = TypeVar("Item")
# results stand below what renders them, so they know it by name alone
_RENDERER = "lakesieve.report.shown"


class Shown:
    """A result that ``str`` and notebooks show as the command line does."""

    __slots__ = ()

    def __str__(self) -> str:
        """As text for a person."""
        text: str = _renderer().plain(self)
        return text

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        html: str = _renderer().html(self)
        return html


class ShownList(list[Item]):
    """Results that a shell and a notebook show as one table."""

    def __repr__(self) -> str:
        """As text for a person: a shell prints this."""
        text: str = _renderer().plain(self)
        return text

    def _repr_html_(self) -> str:
        """As a notebook shows it."""
        html: str = _renderer().html(self)
        return html


def _renderer() -> Any:
    return import_module(_RENDERER)
