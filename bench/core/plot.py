"""Bytes against false files, as an SVG picture with one panel a layout."""

from __future__ import annotations

import html
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from bench.core.measures import Figures

__all__ = ["plot"]

WIDE, HIGH, LEFT, BELOW, ABOVE = 300, 230, 44, 30, 24
COLUMNS = 4
NAMESPACE = "http://www.w3.org/2000/svg"
FONT = 'font-family="sans-serif" font-size="10"'
MIDDLE = 'text-anchor="middle"'
COLOURS = {
    "lakesieve": "#c0392b",
    "lakesieve budget": "#e6857a",
    "Sieve": "#2e6da4",
    "zone maps": "#7f8c8d",
    "Bloom filters": "#8e44ad",
    "Lance BTREE": "#d68910",
    "sorted Parquet": "#117a65",
    "Roaring bitmaps": "#5d4037",
}
# exact answers stand on the lowest line
FLOOR = 0.01


def plot(figures: Sequence[Figures], rows: Mapping[str, int], path: Path) -> None:
    """Draw all layouts.

    Args:
        figures: Of all peers and layouts.
        rows: Rows of each layout.
        path: Where the picture goes.
    """
    layouts = list(dict.fromkeys(f.layout for f in figures))
    lines = math.ceil(len(layouts) / COLUMNS)
    width, height = COLUMNS * WIDE, lines * HIGH + 40
    elements = [
        f'<svg xmlns="{NAMESPACE}" viewBox="0 0 {width} {height}" {FONT}>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for number, layout in enumerate(layouts):
        x, y = number % COLUMNS * WIDE, number // COLUMNS * HIGH
        selected = [f for f in figures if f.layout == layout]
        elements.append(f'<g transform="translate({x},{y})">')
        elements += _panel(layout, selected, rows[layout])
        elements.append("</g>")
    for number, (peer, colour) in enumerate(COLOURS.items()):
        x = 20 + number * width / len(COLOURS)
        elements.append(f'<circle cx="{x}" cy="{height - 18}" r="4" fill="{colour}"/>')
        elements.append(f'<text x="{x + 8}" y="{height - 14}">{peer}</text>')
    path.write_text("\n".join([*elements, "</svg>\n"]), encoding="utf-8")


def _panel(layout: str, figures: Sequence[Figures], rows: int) -> list[str]:
    def across(bits: float) -> float:
        return LEFT + (math.log10(max(bits, 1e-3)) + 3) / 6 * (WIDE - LEFT - 16)

    def up(false: float) -> float:
        share = (math.log10(max(false, FLOOR)) + 2) / 6.5
        return HIGH - BELOW - share * (HIGH - BELOW - ABOVE)

    elements = [
        f'<text x="{LEFT}" y="14" font-weight="bold">{html.escape(layout)}</text>',
        f'<text x="{WIDE - 16}" y="{HIGH - 4}" text-anchor="end">bits a row</text>',
        f'<text transform="translate(10 {HIGH / 2}) rotate(-90)" {MIDDLE}>false files</text>',
    ]
    for power in range(-3, 4):
        x = across(10**power)
        elements.append(f'<line x1="{x}" x2="{x}" y1="{ABOVE}" y2="{HIGH - BELOW}" stroke="#eee"/>')
        elements.append(f'<text x="{x}" y="{HIGH - 18}" {MIDDLE}>{10.0**power:g}</text>')
    for power in range(-2, 5):
        y = up(10**power)
        name = "0" if power == -2 else f"{10.0**power:g}"
        elements.append(f'<line x1="{LEFT}" x2="{WIDE - 16}" y1="{y}" y2="{y}" stroke="#eee"/>')
        elements.append(f'<text x="{LEFT - 4}" y="{y + 3}" text-anchor="end">{name}</text>')
    for figure in reversed(figures):  # ours on top
        x, y = across(8 * figure.size / rows), up(figure.point_files - figure.point_best)
        text = f"{figure.peer}: {8 * figure.size / rows:.2f} bits a row"
        elements.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{COLOURS[figure.peer]}" '
            f'fill-opacity="0.85"><title>{html.escape(text)}</title></circle>'
        )
    return elements
