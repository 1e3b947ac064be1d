"""Tables for a terminal."""

from __future__ import annotations

from rich.table import Table


def plain_table(*headings: str) -> Table:
    """Start a table without frames; a heading that ends in ``>`` is of a column of numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        number = heading.endswith(">")
        table.add_column(heading.rstrip(">"), justify="right" if number else "left", no_wrap=number)
    return table
