"""Tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Iterable


def table_of(
    headings: Iterable[str], rows: Iterable[Iterable[Any]] = (), *, framed: bool = False
) -> Table:
    """Make a table; a heading that ends in ``>`` is of a column of numbers."""
    frame: dict[str, Any] = {"box": box.SIMPLE_HEAD if framed else None}
    table = Table(pad_edge=False, header_style="bold", **frame)
    if not framed:
        table.padding = (0, 2, 0, 0)
    for heading in headings:
        number = heading.endswith(">")
        name, justify = heading.rstrip(">"), "right" if number else "left"
        table.add_column(name, justify=justify, no_wrap=number or framed)  # type: ignore[arg-type]
    for row in rows:
        table.add_row(*row)
    return table


def facts_table(facts: Iterable[tuple[str, str]]) -> Table:
    """Make a table of names and values."""
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        table.add_row(name, Text(value))
    return table
