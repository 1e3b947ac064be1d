"""``python -m bench.picture``: run the demo, and draw files opened and time, before and after.

The picture of the README is drawn from the result of ``lakesieve demo --json``, which is kept
beside it. ``--result FILE`` draws such a file again and measures nothing.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from html import escape
from pathlib import Path
from typing import Any

from lakesieve.report import units

__all__ = ["ASSETS", "SCHEMES", "draw"]

ASSETS = Path(__file__).resolve().parents[1] / "docs" / "assets"
# ink, quiet ink, the bar without lakesieve, the bar with it
SCHEMES = {
    "light": ("#1f2328", "#59636e", "#b4bcc6", "#0f766e"),
    "dark": ("#e6edf3", "#9ba3ad", "#545d68", "#2dd4bf"),
}
QUERIES = ("point", "IN", "narrow range", "join")
_WIDTH, _TOP, _ROW = 480, 92, 60
# left edge and longest bar of the two columns
_COLUMNS = ((110, 108), (306, 92))


def draw(result: dict[str, Any], scheme: str) -> str:
    """Return the SVG picture of a demo's result for one colour scheme."""
    ink, quiet, off, on = SCHEMES[scheme]
    queries = [query for query in result["queries"] if query["name"] in QUERIES]
    height = _TOP + len(queries) * _ROW + 22
    title = f"{result['rows'] / 1e6:.2g} million rows in {result['files']} Iceberg files"
    about = f"{title}: files opened and time of four queries, without and with lakesieve"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"',
        f' font-family="system-ui, sans-serif" font-size="13" fill="{ink}">',
        f"<title>{about}</title>",
        f'<text x="0" y="18" font-size="16" font-weight="600">{title}</text>',
        f'<rect x="0" y="34" width="11" height="11" rx="2" fill="{off}"/>',
        f'<text x="17" y="44" fill="{quiet}">without lakesieve</text>',
        f'<rect x="150" y="34" width="11" height="11" rx="2" fill="{on}"/>',
        f'<text x="167" y="44" fill="{quiet}">with lakesieve, same rows</text>',
        f'<text x="{_COLUMNS[0][0]}" y="76" font-weight="600">files opened</text>',
        f'<text x="{_COLUMNS[1][0]}" y="76" font-weight="600">time</text>',
    ]
    measures = (
        (("files_off", "files_on"), units.count),
        (("seconds_off", "seconds_on"), units.duration),
    )
    for number, query in enumerate(queries):
        y = _TOP + number * _ROW
        parts.append(f'<text x="0" y="{y + 26}">{escape(query["name"])}</text>')
        for (left, longest), (names, text) in zip(_COLUMNS, measures, strict=True):
            most = max(q[name] for q in queries for name in names)
            for line, (name, colour) in enumerate(zip(names, (off, on), strict=True)):
                width, top = max(2.0, longest * query[name] / most), y + 4 + line * 22
                parts.append(
                    f'<rect x="{left}" y="{top}" width="{width:.1f}" height="16" rx="2"'
                    f' fill="{colour}"/><text x="{left + width + 6:.1f}" y="{top + 13}">'
                    f"{text(query[name])}</text>"
                )
    parts.append(
        f'<text x="0" y="{height - 6}" font-size="11" fill="{quiet}">'
        "TPC-H lineitem in order of arrival; 2 cores; medians of 3 runs, planning included</text>"
    )
    return "\n".join([*parts, "</svg>"]) + "\n"


def main() -> None:
    """Measure, or read a result, and write the two pictures."""
    parser = argparse.ArgumentParser(prog="python -m bench.picture", description=__doc__)
    parser.add_argument("--result", type=Path, help="a result of `lakesieve demo --json`")
    parser.add_argument("--dir", type=Path, default=Path("demo-data"), help="where data is kept")
    arguments = parser.parse_args()
    if arguments.result:
        text = arguments.result.read_text(encoding="utf-8")
    else:
        run = "from lakesieve.cli import main; main()"
        command = (sys.executable, "-c", run, "demo", "--json", "--dir")
        text = subprocess.run(
            [*command, str(arguments.dir)], check=True, stdout=subprocess.PIPE, text=True
        ).stdout
    result = json.loads(text)
    ASSETS.mkdir(exist_ok=True)
    # a folder of the machine that measured says nothing
    record = json.dumps(result | {"warehouse": "demo-data/warehouse"}, indent=1) + "\n"
    (ASSETS / "before-after.json").write_text(record, encoding="utf-8")
    for scheme in SCHEMES:
        picture = ASSETS / f"before-after-{scheme}.svg"
        picture.write_text(draw(result, scheme), encoding="utf-8")


if __name__ == "__main__":
    main()
