"""Consoles that write nothing which a terminal would obey."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import RenderHook
from rich.segment import Segment

from lakesieve.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderResult


def printing_safely(console: Console) -> Console:
    """Make a console replace unsafe characters in all that it prints from now on.

    Returns:
        The same console.
    """
    console.push_render_hook(_Safely())
    return console


class _Safely(RenderHook):
    """Wraps whatever a console prints."""

    def process_renderables(
        self, renderables: Sequence[ConsoleRenderable]
    ) -> list[ConsoleRenderable]:
        """Wrap each."""
        return [_Safe(renderable) for renderable in renderables]


class _Safe:
    """Something that rich renders, with unsafe characters replaced.

    Rich writes colours by itself, apart from the text, so they stay.
    """

    def __init__(self, shown: ConsoleRenderable) -> None:
        self._shown = shown

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._shown, options):
            if segment.control:
                yield segment
            else:
                yield Segment(printable(segment.text), segment.style)
